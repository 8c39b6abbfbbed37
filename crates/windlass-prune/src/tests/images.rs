//! Directories of images: with `--root`, and taken for this machine's.

use super::*;

/// What leads nowhere counts among what goes; a certificate that OpenSSL does not come to by a hash keeps no directory
/// alive, but where there is no hash at all.
#[test]
fn a_directory_is_not_emptied() {
    let scene = Scene { directory: tempfile::tempdir().unwrap() };
    fs::create_dir(scene.store()).unwrap();
    symlink("gone", scene.store().join("a.pem")).unwrap();
    let is_refused = || {
        let plan = scene.plan();
        assert_eq!(plan.is_refused(), plan.is_empty());
        plan.is_refused()
    };
    assert!(is_refused());
    fs::copy(fixture("rsa.pem"), scene.store().join("b.pem")).unwrap();
    assert!(!is_refused());
    symlink("gone", scene.store().join("00000000.0")).unwrap();
    assert!(is_refused());
    fs::write(scene.store().join("00000000.r0"), "a CRL").unwrap();
    assert!(is_refused());
    symlink("b.pem", scene.store().join(format!("{HASH}.0"))).unwrap();
    assert!(!is_refused());
    // An image of which some files are its own: without its targets most of it is gone.
    symlink("gone", scene.store().join("00000001.0")).unwrap();
    assert!(is_refused() && scene.plan().notes[0].what.ends_with("most of its hash links lead nowhere"));
    assert_eq!(names(&scene.plan_with(true)), ["00000000.0", "00000001.0", "a.pem"]);
}

/// As Debian's ssl-cert-snakeoil: a server's own certificate lies in the directory of anchors.
#[test]
fn a_certificate_that_is_no_authority_is_no_anchor() {
    let scene = Scene { directory: tempfile::tempdir().unwrap() };
    fs::create_dir(scene.store()).unwrap();
    symlink("gone", scene.store().join("00000001.0")).unwrap();
    for (name, is_anchor) in [("doctor/leaf.pem", false), ("rsa.pem", true)] {
        fs::copy(fixture(name), scene.store().join("00000000.0")).unwrap();
        assert_eq!(scene.plan().is_refused(), !is_anchor, "{name}");
    }
}

/// An image is told from the machine by whose links, packages and generated directories are meant.
#[test]
fn an_image_has_packages_and_tools_of_its_own() {
    let scene = Scene { directory: tempfile::tempdir().unwrap() };
    let root = scene.directory.path().canonicalize().unwrap();
    let image = Image::open(&root).unwrap().unwrap();
    let (store, lists) = (root.join("usr/etc/certs"), root.join("var/lib/dpkg/info"));
    for directory in [&store, &lists, &root.join("etc/pki/ca-trust/extracted/x")] {
        fs::create_dir_all(directory).unwrap();
    }
    // What the package calls /etc is a link, meant for the inside of the image.
    symlink("/usr/etc/certs", root.join("etc/certs")).unwrap();
    fs::write(lists.join("corp-ca.list"), "/etc/certs/00000002.0\n").unwrap();
    fs::copy(fixture("rsa.pem"), store.join(format!("{HASH}.0"))).unwrap();
    for number in [1, 2] {
        fs::copy(fixture("expired.pem"), store.join(format!("0000000{number}.0"))).unwrap();
    }
    let plan = |path: &str| {
        let wanted = Wanted { named: &[path.into()], image: Some(&image), ..Wanted::default() };
        super::plan(&wanted, NOW).unwrap()
    };
    let planned = plan("/etc/certs");
    assert_eq!((names(&planned), &planned.stores[0].path), (vec!["00000001.0"], &store));
    let note = &planned.notes[0];
    assert!(
        note.what.ends_with("it belongs to the package corp-ca") && note.remedy.ends_with(", in the image"),
        "{note:?}"
    );
    let made = plan("/etc/pki/ca-trust/extracted/x");
    assert!(made.is_empty() && made.notes[0].what.contains("is made by update-ca-trust"), "{:?}", made.notes);
    // What can't be read could name any file.
    let list = lists.join("fifo.list");
    rustix::fs::mknodat(rustix::fs::CWD, &list, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(plan("/etc/certs").is_empty());
    fs::remove_file(list).unwrap();
    assert!(!plan("/etc/certs").is_empty());
    // rpm's database is not read, so nothing is known to be nobody's.
    fs::create_dir_all(root.join("var/lib/rpm")).unwrap();
    fs::write(root.join("var/lib/rpm/rpmdb.sqlite"), "").unwrap();
    let unknown = plan("/etc/certs");
    assert!(unknown.is_empty() && unknown.notes[0].remedy == "run windlass prune in the image", "{:?}", unknown.notes);
}
