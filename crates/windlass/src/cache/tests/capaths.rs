//! Hashed directories.

use std::os::unix::fs::symlink;

use super::*;
use crate::error::{PemFault, Unsupported};

fn load(bench: &Bench) -> Result<Arc<RootStore>, LoadError> {
    bench.cache.load(&Source::Capath(bench.dir.path().to_owned()))
}

#[track_caller]
fn expect(bench: &Bench, certificates: &[usize]) {
    assert_holds(&load(bench).unwrap(), certificates);
}

#[test]
fn files_are_read_by_hash_and_number() {
    let bench = Bench::new(MaxAge::Forever);
    bench.write("00000002.0", &certificate(2));
    bench.write("00000001.1", &certificate(1));
    symlink("00000002.0", bench.path("ffffffff.0")).unwrap();
    bench.write("00000001.0", &[certificate(0), certificate(3)].concat());
    // After a gap, a CRL, and a file without a hash name.
    bench.write("00000003.1", &certificate(4));
    bench.write("00000001.r0", b"-----BEGIN X509 CRL-----\n");
    bench.write("ca.pem", &certificate(4));
    bench.write("0000000A.0", &certificate(4));
    expect(&bench, &[0, 3, 1, 2, 2]);
    expect(&bench, &[0, 3, 1, 2, 2]);
    assert_eq!(bench.counts(), [1, 1, 0, 0]);
}

#[test]
fn every_change_is_seen() {
    let bench = Bench::new(MaxAge::Forever);
    let first = bench.write("00000001.0", &certificate(0));
    expect(&bench, &[0]);
    bench.write("00000001.1", &certificate(1));
    expect(&bench, &[0, 1]);
    // The directory itself does not change when a file in it is written in place.
    write_in_place(&first, &certificate(2));
    expect(&bench, &[2, 1]);
    // Nor when the target of a link does.
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("ca.pem");
    fs::write(&target, certificate(3)).unwrap();
    symlink(&target, bench.path("00000002.0")).unwrap();
    expect(&bench, &[2, 1, 3]);
    write_in_place(&target, &certificate(4));
    expect(&bench, &[2, 1, 4]);
    // Files after a removed one are out of reach.
    fs::remove_file(first).unwrap();
    expect(&bench, &[4]);
    assert_eq!(bench.counts(), [6, 0, 0, 0]);
}

#[test]
fn one_file_that_changes_while_others_are_read() {
    let bench = Bench::new(MaxAge::Forever);
    let first = bench.write("00000001.0", &certificate(0));
    bench.write("00000002.0", &certificate(1));
    let once = AtomicBool::new(false);
    bench.on_open(move |path| {
        if path.ends_with("00000002.0") && !once.swap(true, Ordering::SeqCst) {
            write_in_place(&first, &certificate(2));
        }
    });
    expect(&bench, &[2, 1]);
    let first = bench.path("00000001.0");
    bench.on_open(move |path| {
        if path.ends_with("00000002.0") {
            write_in_place(&first, &certificate(3));
        }
    });
    write_in_place(&bench.path("00000001.0"), &certificate(0));
    assert_eq!(load(&bench).unwrap_err(), LoadError::ChangedWhileReading { path: bench.dir.path().to_owned() });
}

#[test]
fn young_directories_are_read_again() {
    let bench = Bench::new(MaxAge::Forever);
    bench.write("00000001.0", &certificate(0));
    bench.world.ahead_ns.store(-3_600_000_000_000, Ordering::SeqCst);
    expect(&bench, &[0]);
    expect(&bench, &[0]);
    assert_eq!(bench.counts(), [1, 0, 1, 0]);
    bench.world.ahead_ns.store(3_600_000_000_000, Ordering::SeqCst);
    expect(&bench, &[0]);
    expect(&bench, &[0]);
    assert_eq!(bench.counts(), [1, 1, 2, 0]);
}

#[test]
fn one_file_from_the_future_is_enough() {
    let bench = Bench::new(MaxAge::Forever);
    bench.write("00000001.0", &certificate(0));
    let future = bench.write("00000002.0", &certificate(1));
    set_mtime(&future, 4_000_000_000_000_000_000);
    expect(&bench, &[0, 1]);
    expect(&bench, &[0, 1]);
    assert_eq!(bench.counts(), [1, 0, 1, 0]);
}

#[test]
fn errors_name_the_file() {
    let bench = Bench::new(MaxAge::Forever);
    let dir = bench.dir.path().to_owned();
    let what = Unsupported::NoCertificate;
    assert_eq!(load(&bench).unwrap_err(), LoadError::Unsupported { path: dir.clone(), what });

    bench.write("00000001.0", &certificate(0));
    let bad = bench.write("00000001.1", b"-----BEGIN TRUSTED CERTIFICATE-----\n");
    let what = Unsupported::Pem { line: 1, fault: PemFault::OtherLabel };
    assert_eq!(load(&bench).unwrap_err(), LoadError::Unsupported { path: bad.clone(), what });
    fs::remove_file(bad).unwrap();

    let broken = bench.path("00000002.0");
    symlink("nowhere", &broken).unwrap();
    assert_eq!(load(&bench).unwrap_err(), LoadError::Missing { path: broken.clone() });
    fs::remove_file(&broken).unwrap();

    fs::create_dir(&broken).unwrap();
    assert_eq!(load(&bench).unwrap_err(), LoadError::NotAFile { path: broken, wanted: "regular file" });

    let file = bench.write("file", b"");
    let error = bench.cache.load(&Source::Capath(file.clone())).unwrap_err();
    assert_eq!(error, LoadError::NotAFile { path: file, wanted: "directory" });
    let missing = bench.path("missing");
    let error = bench.cache.load(&Source::Capath(missing.clone())).unwrap_err();
    assert_eq!(error, LoadError::Missing { path: missing });
}
