//! Properties of a whole process: its working directory, its root directory, its privileges, its children. Each test
//! runs in a child of its own, because these can't be changed for one thread.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chroot};
use std::path::Path;
use std::sync::Arc;

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Access, access};
use support::answers::assert_same;
use support::child::{SOMEBODY, become_user, in_child, is_root};
use support::counts::Counts;
use support::stores::twins;
use windlass::{CacheEvent, Config, LoadError, MaxAge, RootStore, TrustCache};

fn cache() -> (TrustCache, &'static Counts) {
    let counts = Counts::new();
    (TrustCache::new(Config { max_age: MaxAge::Forever, ..Config::default() }, Some(counts)), counts)
}

fn assert_holds(store: &RootStore, pem: &[u8]) {
    assert_same(store, &RootStore::from_pem(pem).unwrap());
}

#[test]
fn a_relative_path_follows_the_working_directory() {
    in_child(|| {
        let [first, second] = twins();
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        fs::write(dirs[0].path().join("ca.pem"), &first).unwrap();
        fs::write(dirs[1].path().join("ca.pem"), &second).unwrap();
        let (cache, _) = cache();
        for (dir, pem) in [(0, &first), (1, &second), (0, &first)] {
            std::env::set_current_dir(dirs[dir].path()).unwrap();
            assert_holds(&cache.load_cafile(Path::new("ca.pem")).unwrap(), pem);
        }
        let empty = tempfile::tempdir().unwrap();
        std::env::set_current_dir(empty.path()).unwrap();
        let path = Path::new("ca.pem").to_owned();
        assert_eq!(cache.load_cafile(&path).unwrap_err(), LoadError::Missing { path });
        std::env::set_current_dir("/").unwrap();
    });
}

#[test]
fn an_absolute_path_follows_the_root_directory() {
    let [first, second] = twins();
    let root = tempfile::tempdir().unwrap();
    let inside = root.path().join("inside");
    let path = root.path().join("ca.pem");
    let path_inside = inside.join(path.strip_prefix("/").unwrap());
    fs::create_dir_all(path_inside.parent().unwrap()).unwrap();
    fs::write(&path, &first).unwrap();
    fs::write(&path_inside, &second).unwrap();
    let empty = inside.join("empty");
    fs::create_dir(&empty).unwrap();
    in_child(|| {
        let (cache, _) = cache();
        assert_holds(&cache.load_cafile(&path).unwrap(), &first);
        // In a user namespace of its own anybody may change the root directory.
        assert!(is_root() || unshare(CloneFlags::CLONE_NEWUSER).is_ok());
        chroot(&inside).unwrap();
        assert_holds(&cache.load_cafile(&path).unwrap(), &second);
        chroot("/empty").unwrap();
        assert_eq!(cache.load_cafile(&path).unwrap_err(), LoadError::Missing { path: path.clone() });
    });
}

#[test]
fn who_may_not_read_the_file_any_more_is_not_served() {
    let [first, _] = twins();
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.path().join("ca.pem");
    fs::write(&path, &first).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    in_child(|| {
        let (cache, counts) = cache();
        let store = cache.load_cafile(&path).unwrap();
        let root = is_root();
        if root {
            become_user(SOMEBODY);
            // The real user may still read it, and must not be asked.
            access(&path, Access::READ_OK).unwrap();
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        }
        let error = cache.load_cafile(&path).unwrap_err();
        assert_eq!(error, LoadError::Io { path: path.clone(), action: "read", errno: 13 });
        if root {
            become_user(0);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert!(Arc::ptr_eq(&cache.load_cafile(&path).unwrap(), &store));
        assert!(counts.value(CacheEvent::Load) >= 1);
    });
}

#[test]
fn a_child_goes_on_with_what_was_loaded() {
    let [first, second] = twins();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.pem");
    fs::write(&path, &first).unwrap();
    let (cache, _) = cache();
    let store = cache.load_cafile(&path).unwrap();
    in_child(|| {
        let adopted = cache.fork();
        assert!(Arc::ptr_eq(&adopted.load_cafile(&path).unwrap(), &store));
        fs::write(&path, &second).unwrap();
        assert_holds(&adopted.load_cafile(&path).unwrap(), &second);
    });
    assert_holds(&cache.load_cafile(&path).unwrap(), &second);
}

/// Children are forked at any moment while many threads load: no child may wait for a thread that it does not have.
#[test]
fn children_are_forked_while_others_load() {
    let [first, second] = twins();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.pem");
    fs::write(&path, &first).unwrap();
    let (cache, _) = cache();
    let end = std::sync::atomic::AtomicBool::new(false);
    let running = || !end.load(std::sync::atomic::Ordering::SeqCst);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (cache, path, dir) = (&cache, &path, &dir);
            let new = if n % 2 == 0 { &first } else { &second };
            scope.spawn(move || {
                while running() {
                    if n < 2 {
                        let temporary = dir.path().join(format!("{n}"));
                        fs::write(&temporary, new).unwrap();
                        fs::rename(temporary, path).unwrap();
                    }
                    match cache.load_cafile(path) {
                        Ok(store) => assert_eq!(store.len(), 1),
                        Err(error) => assert_eq!(error.label(), "changed-while-reading"),
                    }
                }
            });
        }
        for _ in 0..100 {
            in_child(|| {
                let adopted = cache.fork();
                match adopted.load_cafile(&path) {
                    Ok(store) => {
                        // Also what is made when it is first asked for.
                        let anchor = store.anchors().next().unwrap();
                        assert_eq!(store.by_raw_subject(anchor.raw_subject()).count(), 1);
                        assert_eq!(store.by_issuer_and_serial(anchor.raw_issuer(), anchor.serial()).count(), 1);
                        assert_eq!(anchor.subject_key_id().map(|id| store.by_key_id(id).count()), Some(1));
                    }
                    Err(error) => assert_eq!(error.label(), "changed-while-reading"),
                }
            });
        }
        end.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}
