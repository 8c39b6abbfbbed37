//! What exists once per process: configuration, counters, the trust cache and the parsed certificates over it.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString, c_char};
use std::hash::{BuildHasherDefault, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use windlass::compiled::Directories;
use windlass::stats::Stats;
use windlass::{Config, MaxAge, RootStore, TrustCache};

use crate::address_space;
use crate::labels::{Event, LABELS, Label};
use crate::memory;
use crate::openssl::library::Libcrypto;
use crate::openssl::snapshot::Snapshot;

/// The state that a process works with. A forked child gets its own, so that it never waits for a thread that only
/// exists in its parent.
pub struct Process {
    /// The one that this state was made in: see [`address_space::id`].
    address_space: u32,
    /// Root stores by source.
    pub cache: TrustCache,
    snapshots: Mutex<Snapshots>,
}

/// By the addresses of the library and of the root store.
type Snapshots = HashMap<(usize, usize), Arc<Snapshot>, BuildHasherDefault<Addresses>>;

/// The hash of addresses of our own, which nobody else chooses.
#[derive(Default)]
struct Addresses(u64);

impl Hasher for Addresses {
    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Whether the library may do anything in this process.
pub fn enabled() -> bool {
    const UNKNOWN: u8 = 0;
    const ENABLED: u8 = 1;
    const DISABLED: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
    match STATE.load(Ordering::Relaxed) {
        ENABLED => true,
        DISABLED => false,
        _ => {
            // Under secure execution (set-user-ID and the like) nothing from the environment may be believed, and nothing
            // that a less privileged user prepared may be relied on: the library stays out altogether.
            // SAFETY: getauxval has no preconditions.
            let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
            let switched_off =
                environment(c"WINDLASS_DISABLE").is_some_and(|value| !matches!(value.as_bytes(), b"" | b"0"));
            let state = if secure || switched_off { DISABLED } else { ENABLED };
            STATE.store(state, Ordering::Relaxed);
            state == ENABLED
        }
    }
}

/// Adds to a counter.
pub fn count(label: impl Label, n: u64) {
    stats().add(label.slot(), n);
}

/// The state of this process.
pub fn current() -> &'static Process {
    static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());
    let seen = CURRENT.load(Ordering::Acquire);
    // SAFETY: only pointers from Box::into_raw are stored, and none that was stored is ever freed.
    let known = unsafe { seen.as_ref() };
    let fresh = match known {
        Some(process) if process.address_space == address_space::id() => return process,
        Some(parent) => Process::adopt(parent),
        None => Process::new(),
    };
    let fresh = Box::into_raw(Box::new(fresh));
    match CURRENT.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just stored, never freed.
        Ok(_) => unsafe { &*fresh },
        Err(winner) => {
            // SAFETY: `fresh` was not published, so it is ours to free; `winner` was published by another thread.
            unsafe {
                drop(Box::from_raw(fresh));
                &*winner
            }
        }
    }
}

impl Process {
    fn new() -> Process {
        // A panic message would go to the host's standard error. This hook belongs to our own copy of std.
        std::panic::set_hook(Box::new(|_| {}));
        let max_age =
            environment(c"WINDLASS_MAX_AGE").and_then(|value| MaxAge::parse(value.to_str()?)).unwrap_or_default();
        let is_short = Cell::new(false);
        let copied = |value: &OsStr| {
            let mut copy = OsString::new();
            copy.try_reserve_exact(value.len()).ok()?;
            copy.push(value);
            Some(copy)
        };
        let variable = |name: &str| {
            let value = memory::c_string(&[name.as_bytes()]).map(|name| environment(&name));
            let copy = value.map(|value| value.map(copied));
            is_short.set(is_short.get() || matches!(copy, None | Some(Some(None))));
            copy.flatten().flatten()
        };
        // What a variable says must not count as not said.
        let stores = Some(Directories::from_environment(variable)).filter(|_| !is_short.get());
        let stores = stores.unwrap_or_else(Directories::none);
        count(Event::ProcessAttached, 1);
        Process::of(TrustCache::new(Config { max_age, stores }, Some(stats())), Snapshots::default())
    }

    fn adopt(parent: &Process) -> Process {
        count(Event::ProcessAttached, 1);
        let snapshots = match parent.snapshots.try_lock() {
            Ok(known) => {
                let mut snapshots = Snapshots::default();
                // What there is no memory for is made again.
                if snapshots.try_reserve(known.len()).is_ok() {
                    snapshots.extend(known.iter().map(|(key, snapshot)| (*key, Arc::clone(snapshot))));
                }
                snapshots
            }
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => Snapshots::default(),
        };
        Process::of(TrustCache::adopt(&parent.cache), snapshots)
    }

    fn of(cache: TrustCache, snapshots: Snapshots) -> Process {
        Process { address_space: address_space::id(), cache, snapshots: Mutex::new(snapshots) }
    }

    /// The parsed certificates of one root store for one libcrypto: the same for all that ask. None if there is no memory for them.
    pub fn snapshot(&self, library: &'static Libcrypto, roots: Arc<RootStore>) -> Option<Arc<Snapshot>> {
        let key = (ptr::from_ref(library) as usize, Arc::as_ptr(&roots) as usize);
        let mut replaced = Vec::new();
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = snapshots.get(&key) {
            return Some(Arc::clone(snapshot));
        }
        // Sweeping at every insertion would be quadratic for a directory of thousands of files.
        if snapshots.len() < 64 || snapshots.len().is_power_of_two() {
            let abandoned = snapshots.values().filter(|snapshot| snapshot.is_abandoned()).count();
            if replaced.try_reserve_exact(abandoned).is_ok() {
                replaced.extend(snapshots.extract_if(|_, snapshot| snapshot.is_abandoned()).take(abandoned));
            }
        }
        snapshots.try_reserve(1).ok()?;
        let snapshot = Arc::new(Snapshot::new(library, roots)?);
        snapshots.insert(key, Arc::clone(&snapshot));
        drop(snapshots);
        // Frees certificates: not under the lock.
        drop(replaced);
        Some(snapshot)
    }
}

/// A variable of the environment; nothing under secure execution.
pub fn environment(name: &CStr) -> Option<&'static OsStr> {
    let value = environment_pointer(name)?;
    Some(OsStr::from_bytes(value.to_bytes()))
}

/// As [`environment`], as C sees it. OpenSSL reads its variables with `secure_getenv` at each call; so do we.
pub fn environment_pointer(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: NUL-terminated name. The value is used before control returns to the program, whose own duty it is not to
    // change the environment while another thread reads it.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: a value of the environment is NUL-terminated.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

unsafe extern "C" {
    /// glibc 2.17, musl 1.1.24.
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// For the tests, in builds that are never released: from now on all memory within hooked calls comes from the reserve; the result is
/// the most that one of them has had of it so far, in bytes.
#[cfg(feature = "sabotage")]
#[unsafe(no_mangle)]
pub extern "C" fn windlass_measure_reserve() -> u64 {
    windlass_interpose::reserve::measured::refuse();
    windlass_interpose::reserve::measured::most()
}

fn stats() -> &'static Stats {
    static STATS: AtomicPtr<Stats> = AtomicPtr::new(ptr::null_mut());
    /// Until the page can be had.
    static UNSEEN: AtomicPtr<Stats> = AtomicPtr::new(ptr::null_mut());
    let seen = STATS.load(Ordering::Acquire);
    // SAFETY: only pointers from `&'static Stats` are stored.
    if let Some(stats) = unsafe { seen.as_ref() } {
        return stats;
    }
    let path = environment(c"WINDLASS_STATS").map(Path::new);
    let place = match path.map(|path| Stats::try_attach(path, &LABELS)) {
        Some(Some(Some(attached))) => {
            STATS.store(ptr::from_ref(attached).cast_mut(), Ordering::Release);
            return attached;
        }
        // Memory is short: what is counted until it is back is not seen.
        Some(None) => &UNSEEN,
        None | Some(Some(None)) => &STATS,
    };
    // SAFETY: as above.
    if let Some(unseen) = unsafe { UNSEEN.load(Ordering::Acquire).as_ref() } {
        return unseen;
    }
    let private = Stats::private(&LABELS);
    place.store(ptr::from_ref(private).cast_mut(), Ordering::Release);
    private
}
