//! What exists once per process: configuration, counters, the trust cache and the parsed certificates over it.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char};
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
    STATE.load(Ordering::Relaxed) == ENABLED
}

static STATE: AtomicU8 = AtomicU8::new(DISABLED);
const DISABLED: u8 = 0;
const ENABLED: u8 = 1;

/// Decides, when the library is loaded, whether it may do anything. `environment` is what the constructor was given, or null.
pub fn decide(environment: *const *const c_char) -> bool {
    // Under secure execution (set-user-ID and the like) nothing from the environment may be believed, and nothing that a less privileged user
    // prepared may be relied on: the library stays out altogether.
    // SAFETY: getauxval has no preconditions.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let switched_off = || is_switched_off(environment);
    let enabled = !secure && !switched_off();
    STATE.store(u8::from(enabled), Ordering::Relaxed);
    enabled
}

/// Whether `WINDLASS_DISABLE` is set to something else than nothing and 0.
fn is_switched_off(environment: *const *const c_char) -> bool {
    let mut at = environment;
    // SAFETY: the environment of a process: pointers to strings, ended by a null pointer.
    while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| !entry.is_null()) {
        // SAFETY: as above.
        let entry = unsafe { CStr::from_ptr(*entry) }.to_bytes();
        if let Some(value) = entry.strip_prefix(b"WINDLASS_DISABLE=") {
            return !matches!(value, b"" | b"0");
        }
        // SAFETY: this was not the null pointer at the end.
        at = unsafe { at.add(1) };
    }
    false
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
        let stores = Directories::from_environment(|name| Some(environment(&CString::new(name).ok()?)?.to_owned()));
        count(Event::ProcessAttached, 1);
        Process::of(TrustCache::new(Config { max_age, stores }, Some(stats())), Snapshots::default())
    }

    fn adopt(parent: &Process) -> Process {
        count(Event::ProcessAttached, 1);
        let snapshots = match parent.snapshots.try_lock() {
            Ok(snapshots) => snapshots.clone(),
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => Snapshots::default(),
        };
        Process::of(TrustCache::adopt(&parent.cache), snapshots)
    }

    fn of(cache: TrustCache, snapshots: Snapshots) -> Process {
        Process { address_space: address_space::id(), cache, snapshots: Mutex::new(snapshots) }
    }

    /// The parsed certificates of one root store for one libcrypto: the same for all that ask.
    pub fn snapshot(&self, library: &'static Libcrypto, roots: Arc<RootStore>) -> Arc<Snapshot> {
        let key = (ptr::from_ref(library) as usize, Arc::as_ptr(&roots) as usize);
        let mut replaced = Vec::new();
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = snapshots.get(&key) {
            return Arc::clone(snapshot);
        }
        // Sweeping at every insertion would be quadratic for a directory of thousands of files.
        if snapshots.len() < 64 || snapshots.len().is_power_of_two() {
            replaced.extend(snapshots.extract_if(|_, snapshot| snapshot.is_abandoned()));
        }
        let snapshot = Arc::new(Snapshot::new(library, roots));
        snapshots.insert(key, Arc::clone(&snapshot));
        drop(snapshots);
        // Frees certificates: not under the lock.
        drop(replaced);
        snapshot
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

fn stats() -> &'static Stats {
    static STATS: AtomicPtr<Stats> = AtomicPtr::new(ptr::null_mut());
    let seen = STATS.load(Ordering::Acquire);
    // SAFETY: only pointers from `&'static Stats` are stored.
    if let Some(stats) = unsafe { seen.as_ref() } {
        return stats;
    }
    let attached = environment(c"WINDLASS_STATS").and_then(|path| Stats::attach(Path::new(path), &LABELS));
    let fresh = attached.unwrap_or_else(|| Stats::private(&LABELS));
    STATS.store(ptr::from_ref(fresh).cast_mut(), Ordering::Release);
    fresh
}
