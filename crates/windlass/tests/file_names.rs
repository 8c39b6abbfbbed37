//! A file with several names is read once, but this user must have the right to use each name.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use support::child::{SOMEBODY, become_user, in_child, is_root};
use support::stores::{Bench, COMPILED, NOTHING, twins};
use windlass::{CacheEvent, LoadError, Source, TrustCache};

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Loads until the file is old enough to be believed.
fn load_until_believed(bench: &Bench, cache: &TrustCache, path: &Path) {
    loop {
        let before = bench.counts();
        cache.load_cafile(path).unwrap();
        if bench.changed_since(&before) == [CacheEvent::Hit] {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_name_that_may_not_be_used_is_not_served() {
    let bench = Bench::new();
    open_to_all(bench.dir.path(), 0o755);
    let [pem, _] = twins();
    let source = bench.source(&pem);
    open_to_all(source.path(), 0o644);
    let closed = bench.path("closed");
    fs::create_dir(&closed).unwrap();
    let (hidden, link) = (closed.join("ca.pem"), bench.path("link.0"));
    fs::hard_link(source.path(), &hidden).unwrap();
    symlink("ca.pem", &link).unwrap();
    open_to_all(&closed, if is_root() { 0o700 } else { 0o000 });
    in_child(|| {
        let cache = bench.cache();
        // A first load that is not believed keeps no file in mind.
        load_until_believed(&bench, &bench.cache(), source.path());
        load_until_believed(&bench, &cache, source.path());
        if is_root() {
            become_user(SOMEBODY);
        }
        let denied = LoadError::Io { path: hidden.clone(), action: "stat", errno: 13 };
        assert_eq!(cache.load_cafile(&hidden).unwrap_err(), denied);
        let before = bench.counts();
        let [first, second] = [source.path(), &link].map(|path| cache.load_cafile(path).unwrap());
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(bench.counts()[1], before[1] + 2);
    });
    open_to_all(&closed, 0o700);
}

/// One user's compiled store is not believed as another user, under any name.
#[test]
fn a_change_of_user() {
    // Without privileges there is no user to change to.
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    open_to_all(bench.dir.path(), 0o755);
    let [pem, _] = twins();
    let source = bench.source(&pem);
    open_to_all(source.path(), 0o644);
    let compiled = bench.compile(&source);
    chown(compiled, Some(SOMEBODY), None).unwrap();
    let links = ["a.0", "b.0"].map(|name| bench.path(name));
    links.iter().for_each(|link| symlink("ca.pem", link).unwrap());
    let [a, b] = links.map(Source::Cafile);
    in_child(|| {
        let cache = bench.cache();
        let expect = |source: &Source, counters: &[CacheEvent]| {
            let before = bench.counts();
            cache.load(source).unwrap();
            assert_eq!(bench.changed_since(&before), counters);
        };
        become_user(SOMEBODY);
        expect(&source, COMPILED);
        become_user(0);
        expect(&a, NOTHING);
        become_user(SOMEBODY);
        // Root read the source itself, which is good enough for everybody.
        expect(&b, &[CacheEvent::Hit]);
    });
}
