//! Which compiled stores are believed: those that nobody but root and the effective user can have written. Also, other
//! kinds of files in their place.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{CWD, FileType, mknodat};
use support::answers::{ask_everything, assert_same};
use support::child::{SOMEBODY, become_user, bind, in_child, is_root, own_mounts};
use support::stores::{Bench, COMPILED, DISTRUSTED, MALFORMED, NOTHING, certificate, pem_of, template, twins};
use windlass::compiled::{self, Distrust, ReadError};
use windlass::{CacheEvent, LoadError, RootStore, Source};

/// A source with a compiled store, both readable by everybody.
fn open_to_all() -> (Bench, Source, Vec<u8>, PathBuf) {
    let bench = Bench::new();
    fs::set_permissions(bench.dir.path(), Permissions::from_mode(0o755)).unwrap();
    let [pem, _] = twins();
    let source = bench.source(&pem);
    fs::set_permissions(source.path(), Permissions::from_mode(0o644)).unwrap();
    let path = bench.compile(&source);
    assert_eq!(bench.expect(&source, &pem), COMPILED);
    (bench, source, pem, path)
}

#[track_caller]
fn distrust(path: &Path) -> Distrust {
    match compiled::inspect(path) {
        Err(ReadError::Distrusted { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_others_may_write_to() {
    let (bench, source, pem, path) = open_to_all();
    for (place, good) in [(&path, 0o644), (&bench.stores, 0o755)] {
        for bad in [0o020, 0o002, 0o022] {
            fs::set_permissions(place, Permissions::from_mode(good | bad)).unwrap();
            assert_eq!(bench.expect(&source, &pem), DISTRUSTED, "{place:?} {bad:o}");
            assert!(matches!(distrust(&path), Distrust::Mode(mode) if mode & 0o777 == good | bad));
        }
        // A sticky directory keeps others from removing files, not from adding them.
        fs::set_permissions(place, Permissions::from_mode(good | 0o1002)).unwrap();
        assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
        for fine in [good, good & 0o700, good & 0o555] {
            fs::set_permissions(place, Permissions::from_mode(fine)).unwrap();
            assert_eq!(bench.expect(&source, &pem), COMPILED, "{place:?} {fine:o}");
        }
    }
}

/// Without privileges, no file of another user can be made; an existing directory is used instead. `trusted.rs` tests
/// the check alone.
#[test]
fn what_others_own() {
    let (bench, source, pem, path) = open_to_all();
    if !is_root() {
        in_child(|| {
            // To the root user of a user namespace, root's own files belong to a user that is not there.
            own_mounts();
            fs::create_dir(bench.path("foreign")).unwrap();
            bind(Path::new("/usr"), &bench.stores);
            assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
        });
        return;
    }
    for place in [&path, &bench.stores] {
        chown(place, Some(SOMEBODY), None).unwrap();
        assert_eq!(bench.expect(&source, &pem), DISTRUSTED, "{place:?}");
        assert_eq!(distrust(&path), Distrust::Owner(SOMEBODY));
        chown(place, Some(0), Some(SOMEBODY)).unwrap();
        // Of that group, which may not write.
        assert_eq!(bench.expect(&source, &pem), COMPILED, "{place:?}");
    }
    in_child(|| {
        // Root's are for everybody; the user's own are believed; another user's are not.
        become_user(SOMEBODY);
        assert_eq!(bench.expect(&source, &pem), COMPILED);
        become_user(0);
        for place in [&path, &bench.stores] {
            chown(place, Some(SOMEBODY), None).unwrap();
        }
        become_user(SOMEBODY);
        assert_eq!(bench.expect(&source, &pem), COMPILED);
        become_user(0);
        chown(&path, Some(SOMEBODY + 1), None).unwrap();
        become_user(SOMEBODY);
        assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
    });
}

#[test]
fn links() {
    let (bench, source, pem, path) = open_to_all();
    // In place of the file: not followed, wherever it leads.
    let real = bench.path("real.store");
    fs::rename(&path, &real).unwrap();
    for target in [real.as_path(), Path::new("nowhere"), &path, Path::new("/dev/zero")] {
        symlink(target, &path).unwrap();
        assert_eq!(bench.expect(&source, &pem), DISTRUSTED, "{target:?}");
        assert_eq!(distrust(&path), Distrust::Kind);
        fs::remove_file(&path).unwrap();
    }
    fs::rename(&real, &path).unwrap();
    // In place of the directory: the owner and the permissions of its target count.
    let elsewhere = bench.path("elsewhere");
    fs::rename(&bench.stores, &elsewhere).unwrap();
    symlink(&elsewhere, &bench.stores).unwrap();
    assert_eq!(bench.expect(&source, &pem), COMPILED);
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o777)).unwrap();
    assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
    // One that leads nowhere, or round in circles, is no directory.
    fs::remove_file(&bench.stores).unwrap();
    symlink("nowhere", &bench.stores).unwrap();
    assert_eq!(bench.expect(&source, &pem), NOTHING);
    fs::remove_file(&bench.stores).unwrap();
    symlink("stores", &bench.stores).unwrap();
    assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
}

#[test]
fn what_is_no_file() {
    let (bench, source, pem, path) = open_to_all();
    fs::remove_file(&path).unwrap();
    assert_eq!(bench.expect(&source, &pem), NOTHING);
    assert!(matches!(compiled::inspect(&path), Err(ReadError::Missing { .. })));

    fs::create_dir(&path).unwrap();
    assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
    assert_eq!(distrust(&path), Distrust::Kind);
    fs::remove_dir(&path).unwrap();

    // It has no writer: opening it would block forever.
    mknodat(CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
    assert_eq!(distrust(&path), Distrust::Kind);
    fs::remove_file(&path).unwrap();

    // A socket can't be opened at all.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
    fs::remove_file(&path).unwrap();

    fs::write(&path, b"").unwrap();
    assert_eq!(bench.expect(&source, &pem), MALFORMED);
    for device in ["/dev/zero", "/dev/null"] {
        in_child(|| {
            own_mounts();
            bind(Path::new(device), &path);
            assert_eq!(bench.expect(&source, &pem), DISTRUSTED, "{device}");
            assert_eq!(distrust(&path), Distrust::Kind);
        });
    }

    fs::remove_dir_all(&bench.stores).unwrap();
    assert_eq!(bench.expect(&source, &pem), NOTHING);
    fs::write(&bench.stores, b"").unwrap();
    assert_eq!(bench.expect(&source, &pem), NOTHING);
}

/// A process that may not read the source gets nothing from the compiled store, even though it could read that.
#[test]
fn who_may_not_read_the_source_is_not_served() {
    let (bench, source, pem, path) = open_to_all();
    fs::set_permissions(source.path(), Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(bench.compile(&source), path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(bench.expect(&source, &pem), COMPILED);
    let denied = LoadError::Io { path: source.path().to_owned(), action: "read", errno: 13 };
    in_child(|| {
        let cache = bench.cache();
        let before = bench.counts();
        if is_root() {
            become_user(SOMEBODY);
        } else {
            fs::set_permissions(source.path(), Permissions::from_mode(0o000)).unwrap();
        }
        assert_eq!(cache.load(&source).unwrap_err(), denied);
        assert_eq!(bench.load(&source).unwrap_err(), denied);
        assert_eq!(bench.changed_since(&before), []);
    });
    // Nor does the compiled store of a private source reveal anything to users who can't read the source.
    if is_root() {
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(source.path(), Permissions::from_mode(0o644)).unwrap();
        in_child(|| {
            become_user(SOMEBODY);
            assert_eq!(bench.expect(&source, &pem), DISTRUSTED);
        });
    }
}

/// A daemon that changes its effective user: one user's files are not believed as another user, even from the cache.
#[test]
fn a_change_of_user() {
    // Without privileges there is no user to change to.
    if !is_root() {
        return;
    }
    let (bench, source, pem, path) = open_to_all();
    chown(&path, Some(SOMEBODY), None).unwrap();
    in_child(|| {
        let cache = bench.cache();
        let expect = |counters: &[CacheEvent]| {
            let before = bench.counts();
            assert_same(&cache.load(&source).unwrap(), &RootStore::from_pem(&pem).unwrap());
            assert_eq!(bench.changed_since(&before), counters);
        };
        become_user(SOMEBODY);
        expect(COMPILED);
        expect(&[CacheEvent::Hit]);
        become_user(0);
        expect(DISTRUSTED);
        expect(&[CacheEvent::Hit]);
        become_user(SOMEBODY);
        // Root read the source itself, which is good enough for everybody.
        expect(&[CacheEvent::Hit]);
    });
}

/// A container engine mounts a bundle of the host in this way.
#[test]
fn a_bind_mounted_source_is_rewritten_in_place() {
    let (bench, source, pem, _) = open_to_all();
    let [_, other] = twins();
    let host = bench.path("host.pem");
    fs::write(&host, &pem).unwrap();
    in_child(|| {
        own_mounts();
        bind(&host, source.path());
        bench.compile(&source);
        assert_eq!(bench.expect(&source, &pem), COMPILED);
        let cache = bench.cache();
        cache.load(&source).unwrap();
        fs::write(&host, &other).unwrap();
        assert_same(&cache.load(&source).unwrap(), &RootStore::from_pem(&other).unwrap());
        assert_eq!(bench.expect(&source, &other), support::stores::STALE);
        bench.compile(&source);
        assert_eq!(bench.expect(&source, &other), COMPILED);
        // Replaced on the host: the mount stays with the file that it was made of.
        fs::write(bench.path("new.pem"), &pem).unwrap();
        fs::rename(bench.path("new.pem"), &host).unwrap();
        assert_eq!(fs::read(source.path()).unwrap(), other);
        bench.compile(&source);
        assert_eq!(bench.expect(&source, &other), COMPILED);
    });
    // Without the mount there is another file at the same path.
    assert_eq!(bench.expect(&source, &pem), support::stores::STALE);
}

/// Another user with write permission damages the file in ways that no writer does, while others load.
#[test]
fn everything_at_once() {
    let bench = Bench::new();
    let template = template();
    let pem = pem_of(&(0..10).map(|n| certificate(&template, &format!("CA {n}"), 1)).collect::<Vec<_>>());
    let source = bench.source(&pem);
    let path = bench.compile(&source);
    let good = fs::read(&path).unwrap();
    let expected = RootStore::from_pem(&pem).unwrap();
    let seen = || [CacheEvent::Compiled, CacheEvent::CompiledMalformed].map(|event| bench.counts.value(event));
    let loaders = AtomicUsize::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _end = Leaves(&loaders);
                for round in 0..10_000 {
                    let store = bench.load(&source).unwrap();
                    assert_same(&store, &expected);
                    ask_everything(&store);
                    if round >= 100 * support::factor() && seen().iter().all(|count| *count > 0) {
                        break;
                    }
                }
            });
        }
        let mut rng = fastrand::Rng::with_seed(support::seed());
        let new = bench.stores.join("new");
        let in_place = || fs::File::options().write(true).open(&path);
        while loaders.load(Ordering::Relaxed) > 0 {
            let at = rng.usize(0..good.len());
            match rng.u8(0..7) {
                // In place: cut off, with a hole, with other bytes, from the start.
                0 => drop(in_place().map(|file| file.set_len(at as u64))),
                1 => drop(in_place().map(|file| file.set_len(1 << 22))),
                2 => fs::write(&path, vec![at as u8; good.len()]).unwrap(),
                3 => fs::write(&path, &good).unwrap(),
                // By rename: a good one, one that is cut off, or none.
                4 => {
                    fs::write(&new, &good).unwrap();
                    fs::rename(&new, &path).unwrap();
                }
                5 => {
                    fs::write(&new, &good[..at]).unwrap();
                    fs::rename(&new, &path).unwrap();
                }
                _ => drop(fs::remove_file(&path)),
            }
        }
    });
    assert!(seen().iter().all(|count| *count > 0), "{:?}", seen());
}

/// Counts a thread as gone, however it ends.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
