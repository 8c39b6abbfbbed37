//! The cache against files that change, threads that wait and clocks that are set.

mod capaths;
mod changes;
mod compiled;
#[path = "../../../tests/support/counts.rs"]
mod counts;
mod guest;
mod held;
mod names;
mod threads;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use tempfile::TempDir;

use counts::Counts;

use super::CacheEvent::*;
use super::table::FEW_SOURCES;
use super::*;
use crate::identity::Identity;

/// Debian's bundle, from which the tests take certificates.
const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The `n`th certificate of the bundle as a PEM file.
fn certificate(n: usize) -> Vec<u8> {
    let bundle = fs::read(BUNDLE).expect("package ca-certificates");
    let end = b"-----END CERTIFICATE-----\n";
    let mut rest = bundle.as_slice();
    for place in 0.. {
        let len = memchr::memmem::find(rest, end).expect("so many certificates") + end.len();
        let (block, after) = rest.split_at(len);
        if place == n {
            return block.to_vec();
        }
        rest = after;
    }
    unreachable!()
}

/// Two files of equal size with different certificates.
fn equal_sizes() -> [Vec<u8>; 2] {
    let (a, b) = (certificate(0), certificate(1));
    let pad = |pem: &[u8], other: &[u8]| [&b"\n".repeat(other.len()), pem].concat();
    [pad(&a, &b), pad(&b, &a)]
}

type Hook = Box<dyn Fn(&Path) + Send + Sync>;

/// A system whose clocks can be set.
struct World {
    /// Added to the real clock.
    ahead_ns: AtomicI64,
    start: Instant,
    age_s: AtomicU64,
    local: AtomicBool,
    guest: AtomicBool,
    /// Called when a file is open and not yet read.
    opened: Mutex<Option<Arc<Hook>>>,
}

impl System for World {
    fn real_ns(&self) -> i128 {
        Real.real_ns() + i128::from(self.ahead_ns.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Instant {
        self.start + Duration::from_secs(self.age_s.load(Ordering::SeqCst))
    }

    fn keeps_timestamps(&self, _: u64) -> bool {
        self.local.load(Ordering::SeqCst)
    }

    fn is_guest(&self) -> bool {
        self.guest.load(Ordering::SeqCst)
    }

    fn opened(&self, path: &Path) {
        let hook = self.opened.lock().unwrap().clone();
        if let Some(hook) = hook {
            hook(path);
        }
    }
}

/// A cache with counters, a directory of its own, and a system in which every file is an hour old.
struct Bench {
    cache: TrustCache,
    counts: &'static Counts,
    world: Arc<World>,
    dir: TempDir,
}

impl Bench {
    fn new(max_age: MaxAge) -> Bench {
        let world = Arc::new(World {
            ahead_ns: AtomicI64::new(3_600_000_000_000),
            start: Instant::now(),
            age_s: AtomicU64::new(0),
            local: AtomicBool::new(true),
            guest: AtomicBool::new(false),
            opened: Mutex::default(),
        });
        let counts = Counts::new();
        let cache = TrustCache::with_system(
            Config { max_age, ..Config::default() },
            Some(counts),
            Arc::clone(&world) as Arc<dyn System>,
        );
        Bench { cache, counts, world, dir: tempfile::tempdir().unwrap() }
    }

    fn as_guest() -> Bench {
        let bench = Bench::new(MaxAge::Forever);
        bench.world.guest.store(true, Ordering::SeqCst);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes the file in place, later than everything before.
    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        write_in_place(&path, content);
        path
    }

    fn on_open(&self, hook: impl Fn(&Path) + Send + Sync + 'static) {
        *self.world.opened.lock().unwrap() = Some(Arc::new(Box::new(hook)));
    }

    fn load(&self, path: &Path) -> Result<Arc<RootStore>, LoadError> {
        self.cache.load_cafile(path)
    }

    /// Loads, and requires exactly these certificates of the bundle.
    #[track_caller]
    fn expect(&self, path: &Path, certificates: &[usize]) -> Arc<RootStore> {
        let store = self.load(path).unwrap();
        assert_holds(&store, certificates);
        store
    }

    /// Loads, hits, revalidations, waits.
    fn counts(&self) -> [u64; 4] {
        [Load, Hit, Revalidation, Wait].map(|event| self.counts.value(event))
    }
}

#[track_caller]
fn assert_holds(store: &RootStore, certificates: &[usize]) {
    let pem: Vec<u8> = certificates.iter().flat_map(|&n| certificate(n)).collect();
    let expected = RootStore::from_pem(&pem).unwrap();
    assert!(store.has_same_content(&expected), "{store:?}");
}

/// Writes repeatedly until the ctime has changed, because the kernel's clock may be coarse. A new file too is written
/// until it has changed, because it may have the inode of one that was removed within the same tick.
fn write_in_place(path: &Path, content: &[u8]) {
    if !path.exists() {
        fs::write(path, content).unwrap();
    }
    let before = identity(path).ctime_ns;
    loop {
        fs::write(path, content).unwrap();
        if identity(path).ctime_ns != before {
            break;
        }
    }
}

fn identity(path: &Path) -> Identity {
    Identity::of(&rustix::fs::stat(path).unwrap())
}

/// Sets the modification time, and only that: the operating system sets ctime to now.
fn set_mtime(path: &Path, mtime_ns: i128) {
    let time = Timespec { tv_sec: (mtime_ns / 1_000_000_000) as i64, tv_nsec: (mtime_ns % 1_000_000_000) as i64 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::empty()).unwrap();
}

#[test]
fn ages_are_read_as_curl_reads_them() {
    assert_eq!(MaxAge::parse("86400"), Some(MaxAge::Seconds(86_400)));
    assert_eq!(MaxAge::parse("0"), Some(MaxAge::Never));
    assert_eq!(MaxAge::parse("-1"), Some(MaxAge::Forever));
    for text in ["", " ", "-2", "1.5", "1d", "never", "99999999999999999999"] {
        assert_eq!(MaxAge::parse(text), None, "{text}");
    }
    assert_eq!(Config::default().max_age, MaxAge::Seconds(86_400));
}

#[test]
fn what_has_not_changed_is_not_read_again() {
    let bench = Bench::new(MaxAge::default());
    let path = bench.write("ca.pem", &certificate(0));
    let first = bench.expect(&path, &[0]);
    let second = bench.expect(&path, &[0]);
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(bench.counts(), [1, 1, 0, 0]);
    assert_eq!(bench.counts.value(BytesRead), certificate(0).len() as u64);
    let by_source = bench.cache.load(&Source::Cafile(path)).unwrap();
    assert!(Arc::ptr_eq(&first, &by_source));
}

#[test]
fn a_store_is_used_until_its_age() {
    let bench = Bench::new(MaxAge::Seconds(100));
    let path = bench.write("ca.pem", &certificate(0));
    let first = bench.expect(&path, &[0]);
    bench.world.age_s.store(99, Ordering::SeqCst);
    bench.expect(&path, &[0]);
    assert_eq!(bench.counts(), [1, 1, 0, 0]);
    bench.world.age_s.store(100, Ordering::SeqCst);
    let second = bench.expect(&path, &[0]);
    assert_eq!(bench.counts(), [2, 1, 0, 0]);
    // The same certificates stay the same store: data derived from it stays valid.
    assert!(Arc::ptr_eq(&first, &second));
    bench.world.age_s.store(199, Ordering::SeqCst);
    bench.expect(&path, &[0]);
    assert_eq!(bench.counts(), [2, 2, 0, 0]);
}

#[test]
fn for_ever_and_never() {
    let bench = Bench::new(MaxAge::Forever);
    let path = bench.write("ca.pem", &certificate(0));
    bench.expect(&path, &[0]);
    bench.world.age_s.store(u64::from(u32::MAX), Ordering::SeqCst);
    bench.expect(&path, &[0]);
    assert_eq!(bench.counts(), [1, 1, 0, 0]);

    let bench = Bench::new(MaxAge::Never);
    let path = bench.write("ca.pem", &certificate(0));
    bench.expect(&path, &[0]);
    bench.expect(&path, &[0]);
    assert_eq!(bench.counts(), [2, 0, 0, 0]);
}

fn slots(bench: &Bench) -> usize {
    bench.cache.slots.read().unwrap().cafiles.slots.len()
}

#[test]
fn sources_that_are_no_more_do_not_fill_memory() {
    let bench = Bench::new(MaxAge::default());
    let main = bench.write("main.pem", &certificate(0));
    bench.expect(&main, &[0]);
    for n in 0..3 * FEW_SOURCES {
        let path = bench.write(&format!("{n}.pem"), &certificate(1));
        bench.expect(&path, &[1]);
        fs::remove_file(path).unwrap();
        bench.expect(&main, &[0]);
    }
    assert!(slots(&bench) <= FEW_SOURCES);
    let loads = 1 + 3 * FEW_SOURCES as u64;
    assert_eq!(bench.counts(), [loads, loads - 1, 0, 0]);
}

#[test]
fn many_sources_are_kept_as_long_as_they_are_small() {
    let bench = Bench::new(MaxAge::default());
    let paths: Vec<_> = (0..5 * FEW_SOURCES).map(|n| bench.write(&format!("{n}.pem"), &certificate(0))).collect();
    for _ in 0..2 {
        paths.iter().for_each(|path| drop(bench.expect(path, &[0])));
    }
    assert_eq!(bench.counts()[..2], [paths.len() as u64; 2]);

    // Together they now use the whole limit: the least recently used ones are dropped.
    bench.cache.slots.write().unwrap().cafiles.most_bytes = 1000 * certificate(0).len() as u64 / 10;
    let main = &paths[0];
    for n in 0..10 * FEW_SOURCES {
        bench.expect(&bench.write(&format!("more-{n}.pem"), &certificate(1)), &[1]);
        bench.expect(main, &[0]);
    }
    assert!(slots(&bench) <= 4 * FEW_SOURCES, "{}", slots(&bench));
    let hits = bench.counts()[1];
    bench.expect(main, &[0]);
    assert_eq!(bench.counts()[1], hits + 1);
}

#[test]
fn an_identity_is_what_the_operating_system_says() {
    use std::os::unix::fs::MetadataExt;

    let bench = Bench::new(MaxAge::default());
    let path = bench.write("ca.pem", &certificate(0));
    set_mtime(&path, 1_234_567_890_123_456_789);
    let metadata = fs::metadata(&path).unwrap();
    let ctime_ns = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    let mtime_ns = 1_234_567_890_123_456_789;
    let expected = Identity { dev: metadata.dev(), ino: metadata.ino(), size: metadata.size(), mtime_ns, ctime_ns };
    assert_eq!(identity(&path), expected);
    assert!(expected.dev != 0 && expected.ino != 0 && expected.ctime_ns > mtime_ns);
}

#[test]
fn young_timestamps_are_racy() {
    let ms = |n: i128| n * 1_000_000;
    let identity = |mtime_ns, ctime_ns| Identity { dev: 1, ino: 1, size: 1, mtime_ns, ctime_ns };
    let now = ms(1_000_000_000);
    for (mtime, ctime, racy) in [
        (now - ms(5000) - 1, now - ms(99), true),
        (now - ms(99) - 1, now - ms(5000), true),
        (now - ms(101) - 1, now - ms(101) - 1, false),
        (now - ms(5000) - 1, now - ms(5000) - 1, false),
        // In the future.
        (now + ms(3_600_000) + 1, now - ms(5000), true),
        // Whole seconds.
        (now - ms(1000), now - ms(1000), true),
        (now - ms(2000), now - ms(2000), false),
        (now - ms(1000), now - ms(1000) - 1, false),
    ] {
        assert_eq!(identity(mtime, ctime).is_racy(now), racy, "{mtime} {ctime}");
    }
}
