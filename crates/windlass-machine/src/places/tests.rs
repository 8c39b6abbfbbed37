use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn image(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let image = tempfile::tempdir().unwrap();
    let root = image.path().canonicalize().unwrap();
    for file in files {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "").unwrap();
    }
    (image, root)
}

fn found(root: &Path, homes: &[&str]) -> Vec<(PlaceKind, String, String)> {
    let homes: Vec<_> = homes.iter().map(PathBuf::from).collect();
    let text = |place: Place| (place.kind, place.path.to_str().unwrap().to_owned(), place.why);
    known(root, &homes).into_iter().map(text).collect()
}

#[test]
fn the_places_of_a_machine() {
    let (_image, root) = image(&[
        "etc/ssl/certs/ca-certificates.crt",
        "etc/ssl/certs/java/cacerts",
        "usr/lib/python3/dist-packages/certifi/cacert.pem",
        "usr/lib/python3/dist-packages/pip/_vendor/certifi/cacert.pem",
        "usr/lib/jvm/java-17/conf/x",
        "opt/jdk-25/lib/security/cacerts",
        "var/lib/gems/3.1.0/gems/stripe-9/lib/data/ca-certificates.crt",
        "usr/share/p11-kit/modules/p11-kit-trust.module",
        "etc/pki/nssdb/cert9.db",
    ]);
    fs::create_dir_all(root.join("usr/lib/jvm/java-17/lib/security")).unwrap();
    symlink("/etc/ssl/certs/java/cacerts", root.join("usr/lib/jvm/java-17/lib/security/cacerts")).unwrap();
    symlink("java-17", root.join("usr/lib/jvm/default-java")).unwrap();
    let expected = [
        (PlaceKind::Cafile, "/etc/ssl/certs/ca-certificates.crt", "default file of GnuTLS on Debian"),
        (PlaceKind::Capath, "/etc/ssl/certs", "usual default directory of OpenSSL"),
        (
            PlaceKind::CertifiBundle,
            "/usr/lib/python3/dist-packages/certifi/cacert.pem",
            "certifi of /usr/lib/python3/dist-packages",
        ),
        (
            PlaceKind::CertifiBundle,
            "/usr/lib/python3/dist-packages/pip/_vendor/certifi/cacert.pem",
            "pip's own certifi in /usr/lib/python3/dist-packages",
        ),
        (
            PlaceKind::PrivateBundle,
            "/var/lib/gems/3.1.0/gems/stripe-9/lib/data/ca-certificates.crt",
            "gem /var/lib/gems/3.1.0/gems/stripe-9",
        ),
        // Reached through two JVMs as well, and yet one place.
        (PlaceKind::JavaKeystore, "/etc/ssl/certs/java/cacerts", "Java of Debian, kept by ca-certificates-java"),
        (PlaceKind::JavaKeystore, "/opt/jdk-25/lib/security/cacerts", "Java in /opt/jdk-25"),
        (PlaceKind::NssDatabase, "/etc/pki/nssdb/cert9.db", "NSS programs of all users"),
        (PlaceKind::P11KitModule, "/usr/share/p11-kit/modules/p11-kit-trust.module", "p11-kit"),
    ];
    let expected = expected.map(|(kind, path, why)| (kind, path.to_owned(), why.to_owned()));
    assert_eq!(found(&root, &[]), expected);
}

#[test]
fn the_places_of_a_home() {
    let (_image, root) = image(&[
        "home/a/.dotnet/corefx/cryptography/x509stores/root/AA.pfx",
        "home/a/.mozilla/firefox/x.default/cert9.db",
        "home/a/.pki/nssdb/cert9.db",
        "home/a/work/site/.venv/pyvenv.cfg",
        "home/a/work/site/.venv/lib/python3.12/site-packages/certifi/cacert.pem",
        "home/a/.sdkman/candidates/java/21/lib/security/cacerts",
        "home/b/.pki/nssdb/cert9.db",
        "etc/passwd",
    ]);
    symlink("21", root.join("home/a/.sdkman/candidates/java/current")).unwrap();
    symlink("/home/a/work", root.join("home/a/loop")).unwrap();
    let expected = [
        (
            PlaceKind::CertifiBundle,
            "/home/a/work/site/.venv/lib/python3.12/site-packages/certifi/cacert.pem",
            "certifi of /home/a/work/site/.venv/lib/python3.12/site-packages",
        ),
        (
            PlaceKind::JavaKeystore,
            "/home/a/.sdkman/candidates/java/21/lib/security/cacerts",
            "Java in /home/a/.sdkman/candidates/java/21",
        ),
        (PlaceKind::NssDatabase, "/home/a/.pki/nssdb/cert9.db", "Chromium and other NSS programs of /home/a"),
        (
            PlaceKind::NssDatabase,
            "/home/a/.mozilla/firefox/x.default/cert9.db",
            "profile /home/a/.mozilla/firefox/x.default",
        ),
        (PlaceKind::DotnetStore, "/home/a/.dotnet/corefx/cryptography/x509stores/root", ".NET store of /home/a"),
    ];
    let expected = expected.map(|(kind, path, why)| (kind, path.to_owned(), why.to_owned()));
    assert_eq!(found(&root, &["/home/a"]), expected);
}

/// No number of entries makes the search long.
#[test]
fn a_home_of_any_size_is_searched_to_an_end() {
    let (_image, root) = image(&["home/a/x"]);
    for name in 0..12_000 {
        fs::write(root.join(format!("home/a/f{name}")), "").unwrap();
    }
    fs::create_dir_all(root.join("home/a/.pki/nssdb")).unwrap();
    fs::write(root.join("home/a/.pki/nssdb/cert9.db"), "").unwrap();
    assert_eq!(found(&root, &["/home/a"]).len(), 1);
}

/// The author of a container also writes its passwd: a hundred homes get no more room than one.
#[test]
fn homes_of_one_maker_share_their_room() {
    let names: Vec<_> = (0..10).map(|home| format!("home/{home}/.jdks/jdk/lib/security/cacerts")).collect();
    let (_image, root) = image(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let homes: Vec<_> = (0..10).map(|home| PathBuf::from(format!("/home/{home}"))).collect();
    // A home has one entry, which is listed for each pattern that begins with a star: some ten in all.
    let found = |room| search_in(&Tree::of(&root, 20), &homes, room);
    let each = found(Room::EachHome);
    assert_eq!((each.places.len(), each.homes_cut), (10, 0));
    let shared = found(Room::Shared);
    assert!((1..10).contains(&shared.places.len()), "{:?}", shared.places);
    assert!((1..10).contains(&shared.homes_cut) && shared.places.len() + shared.homes_cut >= 10, "{shared:?}");
}

/// As Debian changes certifi: the file is there, and nobody reads it.
#[test]
fn a_certifi_that_names_the_systems_bundle_is_no_place() {
    let (_image, root) = image(&[
        "usr/lib/python3/dist-packages/certifi/cacert.pem",
        "usr/lib/python3/dist-packages/pip/_vendor/certifi/cacert.pem",
    ]);
    let core = |package: &str, text: &str| {
        fs::write(root.join("usr/lib/python3/dist-packages").join(package).join("core.py"), text).unwrap()
    };
    core("certifi", "\"\"\"\nreturns /etc/ssl/certs/x\n\"\"\"\nDEBIAN = '/etc/ssl/certs/ca-certificates.crt'\n");
    core("pip/_vendor/certifi", "\"\"\"\nreturns /etc/ssl/certs/x\n\"\"\"\nreturn files().joinpath('cacert.pem')\n");
    let found = found(&root, &[]);
    assert!(found.len() == 1 && found[0].1.contains("_vendor"), "{found:?}");
}
