//! Several directories, several names, and hashed directories.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn two_directories() {
    let (machine, user) = ("machine", "user");
    for stores in [[machine, user], [user, machine]] {
        let bench = bench_with(MaxAge::Forever, &stores);
        let path = bench.write("ca.pem", &pem(&[0]));
        let source = cafile(&path);
        // Both stale, one of them, none.
        compile_into(&bench, machine, &source);
        compile_into(&bench, user, &source);
        bench.expect_anew(&source, &[0], FRESH);
        write_in_place(&path, &pem(&[1]));
        bench.expect_anew(&source, &[1], STALE);
        compile_into(&bench, user, &source);
        bench.expect_anew(&source, &[1], FRESH);
        write_in_place(&path, &pem(&[2]));
        compile_into(&bench, machine, &source);
        bench.expect_anew(&source, &[2], FRESH);
        // One that is stale, and one that is not there.
        fs::remove_dir_all(bench.path(machine)).unwrap();
        bench.expect_anew(&source, &[2], STALE);
        fs::remove_dir_all(bench.path(user)).unwrap();
        bench.expect_anew(&source, &[2], INDEXED);
    }
}

/// A name that means the same file has no compiled store of its own.
#[test]
fn other_names_of_the_source() {
    let bench = bench(MaxAge::Forever);
    let path = compiled(&bench, "ca.pem", &[0]);
    symlink(&path, bench.path("link.pem")).unwrap();
    for other in ["link.pem", "./ca.pem", "stores/../ca.pem"] {
        bench.expect_anew(&cafile(&bench.path(other)), &[0], INDEXED);
    }
    assert_ne!(file_name(&cafile(&path)), file_name(&Source::Capath(path.clone())));
    // A link may have one, which follows where it leads.
    let source = cafile(&bench.path("link.pem"));
    compile_into(&bench, STORES, &source);
    bench.expect_anew(&source, &[0], FRESH);
    fs::remove_file(bench.path("link.pem")).unwrap();
    symlink(bench.write("other.pem", &pem(&[1])), bench.path("link.pem")).unwrap();
    bench.expect_anew(&source, &[1], STALE);
}

#[test]
fn every_change_of_a_hashed_directory_is_seen() {
    let bench = bench(MaxAge::Forever);
    let certs = bench.path("certs");
    let source = Source::Capath(certs.clone());
    fs::create_dir(&certs).unwrap();
    let first = bench.write("certs/00000001.0", &certificate(0));
    let target = bench.write("target.pem", &certificate(1));
    symlink("../target.pem", certs.join("00000002.0")).unwrap();
    compile_into(&bench, STORES, &source);
    bench.expect_anew(&source, &[0, 1], FRESH);
    // A file written in place, the target of a link, a link.
    write_in_place(&first, &certificate(2));
    bench.expect_anew(&source, &[2, 1], STALE);
    compile_into(&bench, STORES, &source);
    write_in_place(&target, &certificate(3));
    bench.expect_anew(&source, &[2, 3], STALE);
    compile_into(&bench, STORES, &source);
    bench.write("other.pem", &certificate(4));
    symlink("../other.pem", certs.join("new")).unwrap();
    fs::rename(certs.join("new"), certs.join("00000002.0")).unwrap();
    bench.expect_anew(&source, &[2, 4], STALE);
    // One more, one less.
    compile_into(&bench, STORES, &source);
    let more = bench.write("certs/00000001.1", &certificate(5));
    bench.expect_anew(&source, &[2, 5, 4], STALE);
    compile_into(&bench, STORES, &source);
    bench.expect_anew(&source, &[2, 5, 4], FRESH);
    fs::remove_file(&first).unwrap();
    bench.expect_anew(&source, &[4], STALE);
    // Names exchanged: the same files, in another order.
    compile_into(&bench, STORES, &source);
    fs::rename(&more, certs.join("00000003.0")).unwrap();
    bench.expect_anew(&source, &[4, 5], STALE);
    compile_into(&bench, STORES, &source);
    // Other names alone: libcrypto finds them by their names.
    fs::rename(certs.join("00000003.0"), certs.join("00000004.0")).unwrap();
    bench.expect_anew(&source, &[4, 5], STALE);
    fs::rename(certs.join("00000004.0"), certs.join("00000001.0")).unwrap();
    bench.expect_anew(&source, &[5, 4], STALE);
    // Touched.
    compile_into(&bench, STORES, &source);
    set_mtime(&target, 0);
    set_mtime(&certs, 0);
    bench.expect_anew(&source, &[5, 4], by_content());
    // Another directory at that path.
    compile_into(&bench, STORES, &source);
    fs::rename(&certs, bench.path("away")).unwrap();
    assert_eq!(bench.cache.load(&source).unwrap_err(), LoadError::Missing { path: certs.clone() });
    fs::create_dir(&certs).unwrap();
    bench.write("certs/00000001.0", &certificate(6));
    bench.expect_anew(&source, &[6], STALE);
}
