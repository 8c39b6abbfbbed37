//! Files that have several names.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_file_is_read_once_whatever_its_names() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    let (link, hard) = (bench.path("link.0"), bench.path("hard.pem"));
    symlink("ca.pem", &link).unwrap();
    fs::hard_link(&path, &hard).unwrap();
    let first = bench.expect(&path, &[0]);
    for other in [&link, &hard] {
        assert!(Arc::ptr_eq(&first, &bench.expect(other, &[0])));
    }
    let [loads, hits, ..] = bench.counts();
    assert_eq!((loads, hits), (1, 2));

    // From now on, each name is checked separately.
    fs::remove_file(&link).unwrap();
    fs::write(&link, certificate(1)).unwrap();
    bench.expect(&link, &[1]);
    bench.expect(&hard, &[0]);
    write_in_place(&hard, &certificate(2));
    bench.expect(&path, &[2]);
    bench.expect(&hard, &[2]);
    bench.expect(&link, &[1]);
}

/// The first check by another name finds the current state.
#[test]
fn what_has_changed_since_is_read() {
    let bench = Bench::new(MaxAge::Forever);
    let [a, b] = equal_sizes();
    let path = bench.write("ca.pem", &a);
    let other = bench.write("other.pem", &b);
    let [swapped, rewritten, replaced] = ["swapped.0", "rewritten.0", "replaced.0"].map(|name| bench.path(name));
    bench.expect(&path, &[0]);

    // A link that leads to another file by now.
    symlink("ca.pem", &swapped).unwrap();
    fs::remove_file(&swapped).unwrap();
    symlink("other.pem", &swapped).unwrap();
    bench.expect(&swapped, &[1]);
    // The same inode and size, and the old modification time.
    let mtime = identity(&path).mtime_ns;
    fs::hard_link(&path, &rewritten).unwrap();
    write_in_place(&path, &b);
    set_mtime(&path, mtime);
    bench.expect(&rewritten, &[1]);
    // Another inode under the old name.
    fs::rename(&other, &path).unwrap();
    fs::hard_link(&path, &replaced).unwrap();
    bench.expect(&replaced, &[1]);
    bench.expect(&path, &[1]);
}

#[test]
fn a_file_that_is_not_believed_is_read_by_each_name() {
    let bench = Bench::new(MaxAge::Forever);
    bench.world.local.store(false, Ordering::Relaxed);
    let path = bench.write("ca.pem", &certificate(0));
    let link = bench.path("link.0");
    symlink("ca.pem", &link).unwrap();
    bench.expect(&path, &[0]);
    bench.expect(&link, &[0]);
    assert_eq!(bench.counts()[0], 2);
}

/// A load from long ago is equally old under every name.
#[test]
fn another_name_makes_nothing_younger() {
    let bench = Bench::new(MaxAge::Seconds(100));
    let path = bench.write("ca.pem", &certificate(0));
    let [a, b] = ["a.0", "b.0"].map(|name| bench.path(name));
    symlink("ca.pem", &a).unwrap();
    symlink("ca.pem", &b).unwrap();
    bench.expect(&path, &[0]);
    bench.world.age_s.store(60, Ordering::Relaxed);
    bench.expect(&a, &[0]);
    assert_eq!(bench.counts()[0], 1);
    bench.world.age_s.store(110, Ordering::Relaxed);
    bench.expect(&a, &[0]);
    bench.expect(&b, &[0]);
    assert_eq!(bench.counts()[0], 3);
}

#[test]
fn files_that_are_no_more_do_not_fill_memory() {
    let bench = Bench::new(MaxAge::Forever);
    for n in 0..6 * FEW_SOURCES {
        let path = bench.write(&format!("{n}.pem"), &certificate(0));
        bench.expect(&path, &[0]);
        fs::rename(&path, bench.path(&format!("{n}.old"))).unwrap();
    }
    assert_eq!(bench.counts()[0], 6 * FEW_SOURCES as u64);
    let slots = bench.cache.slots.read().unwrap();
    assert!(slots.files.len() <= 3 * FEW_SOURCES + 1, "{}", slots.files.len());
}
