//! Records, links and names prepared by others, which must not be believed.

use std::io;
use std::os::unix::fs::chown;

use windlass_journal::Directory;

use super::*;

/// The message about the one backup, which is not believed.
fn told(scene: &Scene) -> String {
    let (all, damaged) = scene.opened().all().unwrap();
    assert_eq!((all.len(), damaged.len()), (0, 1), "{damaged:?}");
    damaged[0].to_string()
}

fn pruned() -> (Scene, PathBuf) {
    let scene = Scene::hashed();
    let name = scene.apply(&scene.plan()).unwrap().backup.unwrap();
    let backup = scene.backups().join(name);
    (scene, backup)
}

/// All directories must be ours, not only the directory of backups: each may have been another user's before.
#[test]
fn backups_and_records_of_others_are_not_believed() {
    let (scene, backup) = pruned();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (path, wrong, right) in [(backup.clone(), 0o770, 0o700), (backup.join("record.json"), 0o666, 0o600)] {
        mode(&path, wrong);
        assert!(told(&scene).contains("it belongs to another user, or others can write to it"), "{}", path.display());
        assert_eq!(scene.undo().unwrap(), Vec::<String>::new());
        assert!(backup.join("000000").symlink_metadata().is_ok(), "nothing was put anywhere");
        mode(&path, right);
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(65534), None).unwrap();
            assert!(told(&scene).contains("it belongs to another user"), "{}", path.display());
            chown(&path, Some(0), None).unwrap();
        }
    }
    assert_eq!(scene.opened().all().unwrap().0.len(), 1);
    // A link is none, wherever it leads.
    symlink(&backup, scene.backups().join("link")).unwrap();
    assert_eq!(scene.opened().all().unwrap().0.len(), 1);
}

#[test]
fn a_record_names_no_other_places() {
    let (scene, backup) = pruned();
    let record = backup.join("record.json");
    let text = fs::read_to_string(&record).unwrap();
    let store = scene.store();
    for (good, bad) in [
        ("\"name\": \"expired.pem\"", "\"name\": \"../expired.pem\""),
        ("\"name\": \"expired.pem\"", "\"name\": \"..\""),
        ("\"saved\": \"000000\"", "\"saved\": \"../000000\""),
        ("\"saved\": \"000000\"", "\"saved\": \"/etc/passwd\""),
        ("\"saved\": \"000000\"", "\"saved\": \"record.json\""),
        (store.to_str().unwrap(), "etc"),
        (store.to_str().unwrap(), "/tmp/../etc"),
    ] {
        assert!(text.contains(good), "{good}");
        fs::write(&record, text.replacen(good, bad, 1)).unwrap();
        assert!(told(&scene).contains("which windlass never writes"), "{bad}");
    }
}

/// In a directory like /tmp, another user's link could redirect root to a directory that root believes.
#[test]
fn a_directory_of_backups_is_not_reached_by_links_of_others() {
    let (scene, _) = pruned();
    let link = scene.directory.path().canonicalize().unwrap().join("link");
    symlink(scene.backups(), &link).unwrap();
    assert!(Backups::open(&link).unwrap().is_some(), "one of ours");
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
    for failure in [
        Backups::open(&link).unwrap_err(),
        Backups::open_or_make(&link).unwrap_err(),
        Backups::open_or_make(&link.join("new/one")).unwrap_err(),
    ] {
        assert!(failure.to_string().contains("/link is a link that belongs to another user"), "{failure}");
    }
    assert!(!scene.backups().join("new").exists(), "nothing was made");
}

#[test]
fn only_files_of_a_disk_are_looked_at() {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory::open(&place.path().canonicalize().unwrap()).unwrap();
    let link = |name: &str, target: &str| symlink(target, place.path().join(name)).unwrap();
    fs::write(place.path().join("file"), "bytes").unwrap();
    rustix::fs::mknodat(&directory.fd, "fifo", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (name, target) in [("here", "file"), ("waits", "fifo"), ("device", "/dev/null"), ("no-disk", "/proc/version")] {
        link(name, target);
    }
    let look = |name: &str, limit| directory.look(name.as_ref(), limit).unwrap();
    assert_eq!(look("file", 5).unwrap().1, b"bytes");
    assert_eq!((look("file", 4), look("fifo", 5)), (None, None));
    assert_eq!(look("device", 5).unwrap().0.target.unwrap(), "/dev/null", "as a link");
    let through = |name: &str| directory.read_through(name.as_ref(), 4096);
    assert_eq!((through("here").unwrap(), through("file").unwrap()), (b"bytes".to_vec(), b"bytes".to_vec()));
    for name in ["fifo", "waits", "device", "no-disk", "gone"] {
        assert_eq!(through(name), None, "{name}");
    }
}

#[test]
fn one_user_has_so_many_stores() {
    let place = tempfile::tempdir().unwrap();
    let packages = packages::Packages::default();
    let context = context(&packages);
    let mut plan = Plan::default();
    for number in 0..66 {
        let store = place.path().canonicalize().unwrap().join(format!("{number:02}"));
        fs::create_dir(&store).unwrap();
        symlink("gone", store.join("A.pfx")).unwrap();
        plan.add(&store, Kind::DotnetStore, &context);
    }
    let notes: Vec<_> = plan.notes.iter().map(|note| (note.path.file_name().unwrap(), note.what.as_str())).collect();
    let what = "is not examined, nor are the stores after it: its owner has more than 64 stores";
    assert_eq!(notes, [("64".as_ref(), what)]);
    assert_eq!((names(&plan).len(), plan.stores.len()), (64, 64));
    if rustix::process::geteuid().is_root() {
        let store = place.path().canonicalize().unwrap().join("65");
        chown(&store, Some(65534), None).unwrap();
        plan.add(&store, Kind::DotnetStore, &context);
        assert_eq!(names(&plan).len(), 65, "another user has stores of his own");
    }
}

#[test]
fn errors_that_are_about_one_file() {
    use io::ErrorKind::{NotFound, PermissionDenied, ResourceBusy, StorageFull};
    for kind in [PermissionDenied, ResourceBusy, NotFound] {
        assert!(windlass_journal::is_about_one(&kind.into()), "{kind}");
    }
    assert!(!windlass_journal::is_about_one(&StorageFull.into()));
}

/// A copy has the attributes of the file, except those that grant privileges.
#[test]
fn attributes_come_along() {
    let scene = Scene::hashed();
    let file = fs::File::open(scene.store().join("expired.pem")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    // Not every file system has them, and only root may set the second.
    let has = ["user.windlass", "trusted.windlass"].map(|name| rustix::fs::fsetxattr(&file, name, b"x", flags).is_ok());
    APART.set(true);
    let done = scene.apply(&scene.plan());
    APART.set(false);
    let backup = scene.backups().join(done.unwrap().backup.unwrap());
    let copies = fs::read_dir(backup).unwrap().map(|entry| entry.unwrap().path());
    let copies =
        copies.filter(|path| fs::read(path).is_ok_and(|bytes| bytes == fs::read(fixture("expired.pem")).unwrap()));
    let copies: Vec<_> = copies.filter(|path| !path.is_symlink()).collect();
    assert_eq!(copies.len(), 1);
    let value = |name: &str| rustix::fs::getxattr(&copies[0], name, &mut [0; 8][..]).is_ok();
    assert_eq!((value("user.windlass"), value("trusted.windlass")), (has[0], false));
    for (name, copied) in
        [("user.x", true), ("security.selinux", true), ("security.capability", false), ("trusted.x", false)]
    {
        assert_eq!(windlass_journal::is_copied(name.as_bytes()), copied, "{name}");
    }
}

/// OpenSSL's trust settings can remove trust: two certificates with settings are not equal.
#[test]
fn a_certificate_with_settings_stays() {
    let scene = Scene::hashed();
    let plain = fs::read_to_string(fixture("rsa.pem")).unwrap();
    let with_settings = plain.replace(" CERTIFICATE-----", " TRUSTED CERTIFICATE-----");
    fs::write(scene.store().join(format!("{HASH}.3")), with_settings).unwrap();
    let plan = scene.plan();
    assert!(!names(&plan).contains(&format!("{HASH}.3").as_str()), "{:?}", names(&plan));
    fs::write(scene.store().join(format!("{HASH}.3")), plain).unwrap();
    assert!(names(&scene.plan()).contains(&format!("{HASH}.3").as_str()));
}
