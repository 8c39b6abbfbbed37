//! The file changes after it was compiled.

use std::os::unix::fs::symlink;

use super::*;

/// In each step, a process that has loaded before and a new one see the same.
#[test]
fn every_change_is_seen() {
    let bench = bench(MaxAge::Forever);
    let path = compiled(&bench, "ca.pem", &[0]);
    let source = cafile(&path);
    let expect = |certificates: &[usize]| {
        bench.expect_counted(&source, certificates, STALE);
        bench.expect_anew(&source, certificates, STALE);
    };
    bench.expect_counted(&source, &[0], FRESH);
    bench.expect_anew(&source, &[0], FRESH);
    // Rewritten in place.
    write_in_place(&path, &pem(&[1]));
    expect(&[1]);
    // Extended, truncated.
    write_in_place(&path, &pem(&[1, 0]));
    expect(&[1, 0]);
    write_in_place(&path, &pem(&[1]));
    expect(&[1]);
    // Replaced by rename.
    fs::rename(bench.write("new.pem", &pem(&[2])), &path).unwrap();
    expect(&[2]);
    // Compiled again.
    compile_into(&bench, STORES, &source);
    bench.expect_anew(&source, &[2], FRESH);
    bench.expect_counted(&source, &[2], NOTHING);
    // Removed: the error that there is without a compiled store.
    fs::remove_file(&path).unwrap();
    let missing = LoadError::Missing { path: path.clone() };
    assert_eq!(bench.cache.load(&source).unwrap_err(), missing);
    assert_eq!(TrustCache::new(bench.cache.config.clone(), None).load(&source).unwrap_err(), missing);
    // There again, as another file with the content that was compiled.
    bench.write("ca.pem", &pem(&[2]));
    bench.expect_anew(&source, &[2], by_content());
    // Not a file any more.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = LoadError::NotAFile { path: path.clone(), wanted: "regular file" };
    assert_eq!(bench.cache.load(&source).unwrap_err(), error);
}

/// A source that can't be read now is not served from an earlier compiled store.
#[test]
fn a_source_that_is_not_supported_any_more() {
    let bench = bench(MaxAge::Forever);
    let path = compiled(&bench, "ca.pem", &[0]);
    write_in_place(&path, b"-----BEGIN X509 CRL-----\n");
    assert_eq!(bench.cache.load_cafile(&path).unwrap_err().label(), "pem-other-label");
    write_in_place(&path, b"");
    assert_eq!(bench.cache.load_cafile(&path).unwrap_err().label(), "no-certificate");
}

#[test]
fn equal_size_and_equal_mtime_hide_nothing() {
    const TIME: i128 = 1_000_000_000_000_000_000;
    let bench = bench(MaxAge::Forever);
    let [first, second] = equal_sizes();
    let path = bench.write("ca.pem", &first);
    set_mtime(&path, TIME);
    let source = cafile(&path);
    compile_into(&bench, STORES, &source);
    bench.expect_anew(&source, &[0], FRESH);
    let before = identity(&path);
    write_in_place(&path, &second);
    set_mtime(&path, TIME);
    let after = identity(&path);
    assert_eq!((before.ino, before.size, before.mtime_ns), (after.ino, after.size, after.mtime_ns));
    bench.expect_anew(&source, &[1], STALE);
    // By another file.
    compile_into(&bench, STORES, &source);
    let other = bench.write("new.pem", &first);
    set_mtime(&other, TIME);
    fs::rename(&other, &path).unwrap();
    bench.expect_anew(&source, &[0], STALE);
}

/// A restored backup is older than the compiled store, and older than the compiled file.
#[test]
fn an_older_file_is_another_file() {
    let bench = bench(MaxAge::Forever);
    let [first, second] = equal_sizes();
    let old = bench.write("old.pem", &first);
    set_mtime(&old, 1_000_000_000_000_000_000);
    let path = bench.write("ca.pem", &second);
    let source = cafile(&path);
    let store = compile_into(&bench, STORES, &source);
    fs::rename(&old, &path).unwrap();
    assert!(identity(&path).mtime_ns < identity(&store).mtime_ns);
    bench.expect_anew(&source, &[0], STALE);
    // A compiled store does not win by looking newer or older than the source.
    for mtime_ns in [0, 4_000_000_000_000_000_000] {
        set_mtime(&store, mtime_ns);
        bench.expect_anew(&source, &[0], STALE);
    }
}

#[test]
fn touched_only() {
    let bench = bench(MaxAge::Forever);
    let path = compiled(&bench, "ca.pem", &[0]);
    let source = cafile(&path);
    let first = bench.expect_counted(&source, &[0], FRESH);
    set_mtime(&path, 1_000_000_000_000_000_000);
    bench.expect_anew(&source, &[0], by_content());
    // Data derived from the store stays valid.
    let second = bench.expect_counted(&source, &[0], by_content());
    assert!(Arc::ptr_eq(&first, &second));
    bench.expect_counted(&source, &[0], NOTHING);
    // A copy with the same content, then one with a comment more: the same certificates, but not the same file.
    fs::rename(bench.write("new.pem", &pem(&[0])), &path).unwrap();
    bench.expect_anew(&source, &[0], by_content());
    write_in_place(&path, &[b"# a comment\n", pem(&[0]).as_slice()].concat());
    bench.expect_anew(&source, &[0], STALE);
    let [padded, other] = equal_sizes();
    write_in_place(&path, &padded);
    compile_into(&bench, STORES, &source);
    write_in_place(&path, &other);
    bench.expect_anew(&source, &[1], STALE);
}

/// A mounted ConfigMap or Secret.
#[test]
fn kubernetes_swaps_a_directory_in_the_middle_of_the_path() {
    let bench = bench(MaxAge::Forever);
    let swap = |version: &str| {
        symlink(version, bench.path("..data_tmp")).unwrap();
        fs::rename(bench.path("..data_tmp"), bench.path("..data")).unwrap();
    };
    for (version, number) in [("..2026_1", 0), ("..2026_2", 1)] {
        fs::create_dir(bench.path(version)).unwrap();
        bench.write(&format!("{version}/ca.crt"), &certificate(number));
    }
    swap("..2026_1");
    symlink("..data/ca.crt", bench.path("ca.crt")).unwrap();
    let source = cafile(&bench.path("ca.crt"));
    // Between the reading and the writing.
    let image = compile(&source, None, None).unwrap();
    swap("..2026_2");
    write(&bench.path(STORES), &image, Overwrite::Forced).unwrap();
    bench.expect_anew(&source, &[1], STALE);
    // Back to what was compiled: the same files.
    swap("..2026_1");
    bench.expect_anew(&source, &[0], FRESH);
    bench.expect_counted(&source, &[0], FRESH);
    // Between two loads.
    swap("..2026_2");
    bench.expect_counted(&source, &[1], STALE);
    compile_into(&bench, STORES, &source);
    bench.expect_anew(&source, &[1], FRESH);
    // The old one goes, as the kubelet removes it.
    fs::remove_dir_all(bench.path("..2026_1")).unwrap();
    bench.expect_anew(&source, &[1], FRESH);
}

#[test]
fn a_source_that_changes_while_it_is_read() {
    let bench = bench(MaxAge::Forever);
    let path = compiled(&bench, "ca.pem", &[0]);
    let source = cafile(&path);
    write_in_place(&path, &pem(&[1]));
    let other = bench.write("other.pem", &pem(&[2]));
    let once = AtomicBool::new(false);
    bench.on_open(move |path| {
        if !once.swap(true, Ordering::SeqCst) {
            fs::rename(&other, path).unwrap();
        }
    });
    bench.expect_anew(&source, &[2], STALE);
    // To what was compiled, on its way.
    let first = bench.write("first.pem", &pem(&[0]));
    compile_into(&bench, STORES, &source);
    write_in_place(&path, &pem(&[1]));
    let once = AtomicBool::new(false);
    bench.on_open(move |path| {
        if !once.swap(true, Ordering::SeqCst) {
            fs::rename(&first, path).unwrap();
        }
    });
    bench.expect_anew(&source, &[0], STALE);
}
