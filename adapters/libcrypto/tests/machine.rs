//! The libcryptos of the machine that runs the tests, and how this crate treats them.

use std::io::Write;
use std::path::{Path, PathBuf};

use windlass::{Config, TrustCache};
use windlass_libcrypto::{Libcrypto, OpenError};

fn libcrypto() -> Libcrypto {
    let name = std::env::var_os("WINDLASS_TEST_LIBCRYPTO").map_or_else(|| "libcrypto.so.3".into(), PathBuf::from);
    Libcrypto::open(&name).unwrap()
}

#[test]
fn the_machines_own_is_found_and_knows_its_paths() {
    let all = Libcrypto::all();
    let three = all.iter().find(|found| found.name() == "libcrypto.so.3").expect("OpenSSL 3");
    assert!(three.version().starts_with("OpenSSL 3."), "{}", three.version());
    let output = std::process::Command::new("openssl").args(["version", "-d"]).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let directory = Path::new(output.split('"').nth(1).unwrap());
    assert_eq!(three.default_file(), directory.join("cert.pem"));
    assert_eq!(three.default_directory(), directory.join("certs"));
}

#[test]
fn every_root_of_the_system_is_accepted() {
    let store = TrustCache::new(Config::default(), None)
        .load_cafile(Path::new("/etc/ssl/certs/ca-certificates.crt"))
        .expect("package ca-certificates");
    let mut told = Vec::new();
    let judgement = libcrypto().judge(&store, &mut |done| told.push(done)).unwrap();
    assert_eq!(judgement.keys_not_decoded, 0);
    assert_eq!(told, (1..=store.len()).collect::<Vec<_>>());
}

#[test]
fn what_is_not_there_is_an_error() {
    assert!(matches!(
        Libcrypto::open(Path::new("libcrypto.so.none")),
        Err(OpenError::NotLoaded(why)) if why.contains("libcrypto.so.none")
    ));
    assert!(matches!(Libcrypto::open(Path::new("lib\0crypto")), Err(OpenError::NotLoaded(_))));
    let error = Libcrypto::open(Path::new("libm.so.6")).unwrap_err();
    assert_eq!(error.to_string(), "libm.so.6 has no function OpenSSL_version_num");
    let mut text = tempfile::NamedTempFile::new().unwrap();
    text.write_all(b"no library").unwrap();
    assert!(matches!(Libcrypto::open(text.path()), Err(OpenError::NotLoaded(_))));
}
