//! The cached sources, queried without touching any file.

use super::*;

#[test]
fn a_file_is_held_once_it_was_loaded_and_whatever_becomes_of_it() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("roots.pem", &certificate(0));
    assert!(!bench.cache.holds_cafile(&path));
    bench.expect(&path, &[0]);
    assert!(bench.cache.holds_cafile(&path));
    fs::remove_file(&path).unwrap();
    assert!(bench.cache.holds_cafile(&path));
    assert!(!bench.cache.holds_cafile(&bench.path("other.pem")));
}

#[test]
fn what_could_not_be_loaded_is_not_held() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("damaged.pem", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    assert!(bench.load(&path).is_err());
    assert!(!bench.cache.holds_cafile(&path));
    assert!(bench.load(&bench.path("missing.pem")).is_err());
    assert!(!bench.cache.holds_cafile(&bench.path("missing.pem")));
}

#[test]
fn nothing_is_held_where_nothing_may_be_kept() {
    let bench = Bench::new(MaxAge::Never);
    let path = bench.write("roots.pem", &certificate(0));
    bench.expect(&path, &[0]);
    assert!(!bench.cache.holds_cafile(&path));
}
