//! Young sources, and expired ages.

use super::*;

/// Compiling waits until the source is old enough for its identity to be believed. If waiting does not help, every
/// reader compares the content.
#[test]
fn compiled_while_the_source_was_young() {
    let bench = bench(MaxAge::Forever);
    let path = bench.write("ca.pem", &pem(&[0]));
    let image = compile(&cafile(&path), None, None).unwrap();
    assert!(image.is_believed());
    assert!(!identity(&path).is_racy(Real.real_ns()));
    // From the future.
    set_mtime(&path, 4_000_000_000_000_000_000);
    let image = compile(&cafile(&path), None, None).unwrap();
    assert!(!image.is_believed());
    write(&bench.path(STORES), &image, Overwrite::Forced).unwrap();
    for _ in 0..2 {
        bench.expect_anew(&cafile(&path), &[0], by_content());
    }
    assert_eq!(bench.counts.value(BytesRead), 2 * pem(&[0]).len() as u64);
}

#[test]
fn a_young_source_is_not_believed_by_the_reader_either() {
    let bench = bench(MaxAge::Forever);
    let path = compiled(&bench, "ca.pem", &[0]);
    write_in_place(&path, &pem(&[1]));
    bench.world.ahead_ns.store(-3_600_000_000_000, Ordering::SeqCst);
    let first = bench.expect_counted(&cafile(&path), &[1], STALE);
    let before = bench.counts();
    let second = bench.cache.load_cafile(&path).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    // Read again and compared, not taken from the entry nor from any compiled store.
    assert_eq!(bench.counts()[2], before[2] + 1);
}

#[test]
fn never_caching_means_reading() {
    let bench = bench(MaxAge::Never);
    let path = compiled(&bench, "ca.pem", &[0]);
    for _ in 0..2 {
        bench.expect_counted(&cafile(&path), &[0], INDEXED);
    }
    assert_eq!(bench.counts.value(BytesRead), 2 * pem(&[0]).len() as u64);
}

/// A user who limits the age wants the source to be read, whatever its timestamps say.
#[test]
fn an_age_is_over_for_the_compiled_store_too() {
    let bench = bench(MaxAge::Seconds(100));
    let path = compiled(&bench, "ca.pem", &[0]);
    let source = cafile(&path);
    let first = bench.expect_counted(&source, &[0], FRESH);
    bench.world.age_s.store(99, Ordering::SeqCst);
    bench.expect_counted(&source, &[0], NOTHING);
    assert_eq!(bench.counts.value(BytesRead), 0);
    for age_s in [100, 200] {
        bench.world.age_s.store(age_s, Ordering::SeqCst);
        let again = bench.expect_counted(&source, &[0], INDEXED);
        assert!(Arc::ptr_eq(&first, &again));
        bench.expect_counted(&source, &[0], NOTHING);
    }
    assert_eq!(bench.counts.value(BytesRead), 2 * pem(&[0]).len() as u64);
}
