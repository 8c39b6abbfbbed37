//! The cache in a process that may be behind a system call filter. (tests/guest compares its system calls with the
//! stock library's.)

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::*;
use crate::source::system::FileSystems;

#[test]
fn every_change_is_seen() {
    let bench = Bench::as_guest();
    let [first, second] = equal_sizes();
    let path = bench.write("ca.pem", &first);
    set_mtime(&path, 1_000_000_000_000_000_000);
    let store = bench.expect(&path, &[0]);
    assert!(Arc::ptr_eq(&store, &bench.expect(&path, &[0])));
    write_in_place(&path, &second);
    set_mtime(&path, 1_000_000_000_000_000_000);
    bench.expect(&path, &[1]);
    let other = bench.write("new.pem", &first);
    fs::rename(&other, &path).unwrap();
    bench.expect(&path, &[0]);
    fs::remove_file(&path).unwrap();
    assert_eq!(bench.load(&path).unwrap_err(), LoadError::Missing { path: path.clone() });
    assert_eq!(bench.cache.load_listed(&path).unwrap_err(), LoadError::Missing { path: path.clone() });
    assert_eq!(bench.counts(), [3, 1, 0, 0]);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let bench = Bench::as_guest();
    for known in [false, true] {
        let path = bench.path(if known { "known" } else { "new" });
        if known {
            write_in_place(&path, &certificate(0));
            bench.expect(&path, &[0]);
            fs::remove_file(&path).unwrap();
        }
        // It has no writer: opening it would block forever. A writer would also notice the opening.
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
        let writer = || rustix::fs::open(&path, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
        assert_eq!(writer().unwrap_err(), Errno::NXIO);
        for load in [TrustCache::load_cafile, TrustCache::load_listed] {
            let error = load(&bench.cache, &path).unwrap_err();
            assert_eq!(error, LoadError::NotAFile { path: path.clone(), wanted: "regular file" });
        }
        fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        assert_eq!(bench.load(&path).unwrap_err().label(), "not-a-file");
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let bench = Bench::as_guest();
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
}

/// A file that not everybody may read is opened at each use, to check whether this process still may.
#[test]
fn files_that_only_some_may_read() {
    let bench = Bench::as_guest();
    let path = bench.write("ca.pem", &certificate(0));
    for mode in [0o600, 0o640, 0o444, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let store = bench.expect(&path, &[0]);
        for load in [TrustCache::load_cafile, TrustCache::load_listed] {
            assert!(Arc::ptr_eq(&load(&bench.cache, &path).unwrap(), &store), "{mode:o}");
        }
    }
    assert_eq!(bench.counts(), [4, 8, 0, 0]);
}

#[test]
fn only_file_systems_that_were_looked_at_are_believed() {
    let bench = Bench::as_guest();
    let path = bench.write("ca.pem", &certificate(0));
    let file = fs::File::open(&path).unwrap();
    let device = file.metadata().unwrap().dev();
    let kind = |known: FileSystems| {
        let known: &'static FileSystems = Box::leak(Box::new(known));
        crate::source::system::Guest(known).file_system(std::os::fd::AsFd::as_fd(&file), device).unwrap().kind
    };
    assert!(!Real.keeps_timestamps(kind(FileSystems::none())));
    let mut known = FileSystems::none();
    let statfs = || rustix::fs::fstatfs(&file).ok().map(|statfs| (statfs.f_type as u64, statfs.f_flags as u64));
    // Too many, and what can't be told, do no harm.
    known.note(device, || None);
    known.note(device, statfs);
    known.note(device, || unreachable!("it is known"));
    for other in 1..20 {
        known.note(device + other, || Some((other, 0)));
    }
    assert_eq!(kind(known), rustix::fs::fstatfs(&file).unwrap().f_type as u64);
}
