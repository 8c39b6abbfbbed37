//! Changes of the source.

use std::os::unix::fs::symlink;

use super::*;
use crate::error::{PemFault, Unsupported};

#[test]
fn every_change_is_seen_by_the_next_load() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    bench.expect(&path, &[0]);
    // Replaced by rename.
    let other = bench.write("new.pem", &certificate(1));
    fs::rename(other, &path).unwrap();
    bench.expect(&path, &[1]);
    // Extended in place.
    write_in_place(&path, &[certificate(1), certificate(2)].concat());
    bench.expect(&path, &[1, 2]);
    // Truncated in place.
    write_in_place(&path, &certificate(1));
    bench.expect(&path, &[1]);
    // Removed.
    fs::remove_file(&path).unwrap();
    assert_eq!(bench.load(&path).unwrap_err(), LoadError::Missing { path: path.clone() });
    // There again.
    bench.write("ca.pem", &certificate(1));
    bench.expect(&path, &[1]);
    assert_eq!(bench.counts(), [5, 0, 0, 0]);
}

#[test]
fn equal_size_and_equal_mtime_hide_nothing() {
    let bench = Bench::new(MaxAge::Forever);
    let [first, second] = equal_sizes();
    let path = bench.write("ca.pem", &first);
    set_mtime(&path, 1_000_000_000_000_000_000);
    bench.expect(&path, &[0]);
    // In place.
    let before = identity(&path);
    write_in_place(&path, &second);
    set_mtime(&path, 1_000_000_000_000_000_000);
    let after = identity(&path);
    assert_eq!((before.ino, before.size, before.mtime_ns), (after.ino, after.size, after.mtime_ns));
    bench.expect(&path, &[1]);
    // By another file, as `cp -p` and `mv` do.
    let other = bench.write("new.pem", &first);
    set_mtime(&other, 1_000_000_000_000_000_000);
    fs::rename(&other, &path).unwrap();
    bench.expect(&path, &[0]);
}

#[test]
fn a_young_file_is_read_again_until_it_is_older() {
    let bench = Bench::new(MaxAge::Forever);
    // The simulated clock is an hour from the file's time, whatever else the machine is doing.
    let now = |path: &Path, later_ns: i64| {
        let ahead = identity(path).ctime_ns - Real.real_ns() + i128::from(later_ns);
        bench.world.ahead_ns.store(ahead as i64, Ordering::SeqCst);
    };
    let [first, second] = equal_sizes();
    let path = bench.write("ca.pem", &first);
    now(&path, -3_600_000_000_000);
    let store = bench.expect(&path, &[0]);
    assert!(Arc::ptr_eq(&store, &bench.expect(&path, &[0])));
    assert_eq!(bench.counts(), [1, 0, 1, 0]);
    // A change that no timestamp shows, as within one tick of the kernel's clock.
    let seen = bench.cache.slot(SourceRef::Cafile(&path)).unwrap().try_entry().unwrap();
    fs::write(&path, &second).unwrap();
    bench.cache.slots.write().unwrap().cafiles.slots.insert(
        path.clone().into_os_string(),
        Arc::new(Slot::with_entry(Entry { state: State::File(identity(&path)), ..seen })),
    );
    now(&path, -3_600_000_000_000);
    bench.expect(&path, &[1]);
    assert_eq!(bench.counts(), [2, 0, 1, 0]);
    // An hour later it is read once more, and believed from then on.
    now(&path, 3_600_000_000_000);
    bench.expect(&path, &[1]);
    assert_eq!(bench.counts(), [2, 0, 2, 0]);
    bench.expect(&path, &[1]);
    assert_eq!(bench.counts(), [2, 1, 2, 0]);
    // No bytes are kept for comparison then.
    assert!(bench.cache.slot(SourceRef::Cafile(&path)).unwrap().try_entry().unwrap().files.is_none());
}

#[test]
fn a_file_from_the_future_is_always_read() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    set_mtime(&path, 4_000_000_000_000_000_000);
    for _ in 0..3 {
        bench.expect(&path, &[0]);
    }
    assert_eq!(bench.counts(), [1, 0, 2, 0]);
}

#[test]
fn a_file_system_that_is_not_known_is_always_read() {
    let bench = Bench::new(MaxAge::Seconds(100));
    bench.world.local.store(false, Ordering::SeqCst);
    let path = bench.write("ca.pem", &certificate(0));
    let first = bench.expect(&path, &[0]);
    assert!(Arc::ptr_eq(&first, &bench.expect(&path, &[0])));
    assert_eq!(bench.counts(), [1, 0, 1, 0]);
    // The age counts from when it was indexed, not from when it was last compared.
    bench.world.age_s.store(99, Ordering::SeqCst);
    bench.expect(&path, &[0]);
    bench.world.age_s.store(100, Ordering::SeqCst);
    bench.expect(&path, &[0]);
    assert_eq!(bench.counts(), [2, 0, 2, 0]);
}

#[test]
fn which_file_systems_are_known() {
    for known in [0xEF53, 0x0102_1994, 0x794C_7630, 0x5846_5342, 0x9123_683E] {
        assert!(Real.keeps_timestamps(known), "{known:x}");
    }
    // NFS, SMB, SMB2, CIFS, 9p, FUSE, Ceph, AFS, vfat, exfat, ntfs3, proc.
    for unknown in [
        0x6969,
        0x517B,
        0xFE53_4D42,
        0xFF53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x5346_414F,
        0x4D44,
        0x2011_BAB0,
        0x7366_746E,
        0x9FA0,
    ] {
        assert!(!Real.keeps_timestamps(unknown), "{unknown:x}");
    }
}

/// A mounted ConfigMap: programs use a name that is a link through `..data`, and only `..data` is replaced.
#[test]
fn kubernetes_swaps_a_directory_in_the_middle_of_the_path() {
    let bench = Bench::new(MaxAge::Forever);
    for (version, certificate_number) in [("..1", 0), ("..2", 1)] {
        fs::create_dir(bench.path(version)).unwrap();
        bench.write(&format!("{version}/ca.crt"), &certificate(certificate_number));
    }
    symlink("..1", bench.path("..data")).unwrap();
    symlink("..data/ca.crt", bench.path("ca.crt")).unwrap();
    let path = bench.path("ca.crt");
    bench.expect(&path, &[0]);
    symlink("..2", bench.path("..data_tmp")).unwrap();
    fs::rename(bench.path("..data_tmp"), bench.path("..data")).unwrap();
    bench.expect(&path, &[1]);
    bench.expect(&path, &[1]);
    assert_eq!(bench.counts(), [2, 1, 0, 0]);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    bench.expect(&path, &[0]);
    fs::remove_file(&path).unwrap();
    let not_a_file = || LoadError::NotAFile { path: path.clone(), wanted: "regular file" };
    bench.on_open(|_| panic!("opened"));

    fs::create_dir(&path).unwrap();
    assert_eq!(bench.load(&path).unwrap_err(), not_a_file());
    fs::remove_dir(&path).unwrap();

    // It has no writer: opening it would block forever.
    rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(bench.load(&path).unwrap_err(), not_a_file());
    fs::remove_file(&path).unwrap();

    symlink("/dev/null", &path).unwrap();
    assert_eq!(bench.load(&path).unwrap_err(), not_a_file());
    fs::remove_file(&path).unwrap();

    symlink("nowhere", &path).unwrap();
    assert_eq!(bench.load(&path).unwrap_err(), LoadError::Missing { path: path.clone() });
    fs::remove_file(&path).unwrap();

    symlink("ca.pem", &path).unwrap();
    assert_eq!(bench.load(&path).unwrap_err().label(), "io");

    let below = bench.write("file", b"").join("ca.pem");
    assert_eq!(bench.load(&below).unwrap_err(), LoadError::Missing { path: below });
    assert_eq!(bench.load(Path::new("")).unwrap_err(), LoadError::Missing { path: PathBuf::new() });
    let nul = Path::new("a\0b");
    assert_eq!(bench.load(nul).unwrap_err().label(), "io");
}

#[test]
fn a_huge_file_is_not_read() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.path("ca.pem");
    fs::File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
    bench.on_open(|_| panic!("read"));
    let size = (1 << 30) + 1;
    assert_eq!(bench.load(&path).unwrap_err(), LoadError::TooLarge { path, size, limit: 1 << 30 });
}

#[test]
fn errors_are_not_kept() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", b"");
    let what = Unsupported::NoCertificate;
    assert_eq!(bench.load(&path).unwrap_err(), LoadError::Unsupported { path: path.clone(), what });
    write_in_place(&path, b"-----BEGIN X509 CRL-----\n");
    let what = Unsupported::Pem { line: 1, fault: PemFault::OtherLabel };
    let error = bench.load(&path).unwrap_err();
    assert_eq!(error, LoadError::Unsupported { path: path.clone(), what });
    assert_eq!(error.to_string(), format!("{}: line 1: a PEM block other than CERTIFICATE", path.display()));
    write_in_place(&path, &certificate(0));
    bench.expect(&path, &[0]);
    // Nor does an error leave the earlier state in place.
    write_in_place(&path, b"-----BEGIN X509 CRL-----\n");
    assert_eq!(bench.load(&path).unwrap_err(), error);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let once = AtomicBool::new(false);
    bench.on_open(move |path| {
        if !once.swap(true, Ordering::SeqCst) {
            write_in_place(path, &certificate(1));
        }
    });
    bench.expect(&path, &[1]);
    // Another link: the opened file is whole and stable, but the path no longer leads to it.
    let target = bench.write("target", &certificate(0));
    let other = bench.write("other", &certificate(2));
    let link = bench.path("link");
    symlink(target, &link).unwrap();
    let once = AtomicBool::new(false);
    bench.on_open(move |path| {
        if !once.swap(true, Ordering::SeqCst) {
            symlink(&other, path.with_extension("new")).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }
    });
    bench.expect(&link, &[2]);
    bench.on_open(move |path| write_in_place(path, &certificate(3)));
    write_in_place(&path, &certificate(0));
    assert_eq!(bench.load(&path).unwrap_err(), LoadError::ChangedWhileReading { path });
}
