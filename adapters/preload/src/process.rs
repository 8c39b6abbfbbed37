//! State that exists once per process: configuration, counters and the trust cache.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, OsStr, OsString, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use windlass::compiled::Directories;
use windlass::{CacheEvent, Config, FileSystems, MaxAge, Observer, TrustCache};
use windlass_counters::Stats;
use windlass_interpose::kernel;

use crate::address_space;
use crate::for_each_process::ForEachProcess;
use crate::labels::{Event, LABELS, Label};
use crate::memory;

/// The findings of `prepare`. Not on the heap: the program may otherwise never use one.
static PREPARED: Once<Prepared> =
    Once { state: AtomicU8::new(Once::<Prepared>::EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) };

/// A value that is set once and can be read from then on.
struct Once<T> {
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: written once, before the state allows reading.
unsafe impl<T: Send + Sync> Sync for Once<T> {}

impl<T> Once<T> {
    const EMPTY: u8 = 0;
    const BEGUN: u8 = 1;
    const FULL: u8 = 2;

    fn set(&self, value: impl FnOnce() -> T) {
        if self.state.compare_exchange(Self::EMPTY, Self::BEGUN, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            // SAFETY: there is no other writer, and no reader yet.
            unsafe { (*self.value.get()).write(value()) };
            self.state.store(Self::FULL, Ordering::Release);
        }
    }

    fn get(&self) -> Option<&T> {
        let full = self.state.load(Ordering::Acquire) == Self::FULL;
        // SAFETY: written before the state was set, and never again.
        full.then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }
}

struct Prepared {
    file_systems: FileSystems,
    user: libc::uid_t,
    /// The counters page that `WINDLASS_STATS` names.
    stats: Option<&'static Stats>,
}

/// Makes all system calls that the stock library would not make for a load: a process may install a seccomp filter
/// before its first hooked call. Call this when the library is loaded, with the environment that the program was
/// started with (the C library may not have its own copy yet).
pub fn prepare(environment: Environment) {
    // A panic message would go to the host's standard error. This hook belongs to our own copy of std.
    std::panic::set_hook(Box::new(|_| {}));
    address_space::prepare();
    PREPARED.set(|| {
        let user = kernel::effective_user();
        let stats = environment.variable(b"WINDLASS_STATS").and_then(|path| stats_page(path, user));
        let mut file_systems = FileSystems::none();
        for path in PLACES {
            if let Some(stat) = kernel::stat(path) {
                let types = |statfs: libc::statfs64| (statfs.f_type as u64, statfs.f_flags as u64);
                file_systems.note(stat.st_dev, || kernel::statfs(path).map(types));
            }
        }
        Prepared { file_systems, user, stats }
    });
}

/// Opens a counters page of this user. Checks the file before opening it, because opening a device or a FIFO can have
/// side effects.
fn stats_page(path: &CStr, user: libc::uid_t) -> Option<&'static Stats> {
    let is_page = |stat: &libc::stat64| Stats::is_page(stat, user);
    kernel::stat(path).filter(is_page)?;
    let page = kernel::File::open(path, libc::O_RDWR | libc::O_NONBLOCK | libc::O_NOCTTY)?;
    page.stat().filter(is_page)?;
    Stats::in_page(page.counters(Stats::WORDS)?, &LABELS)
}

/// The environment that the program was started with.
#[derive(Clone, Copy)]
pub struct Environment(*const *const c_char);

impl Environment {
    /// # Safety
    /// `strings` is null, or an array of NUL-terminated strings that ends with a null pointer; both stay unchanged
    /// while the result is in use.
    pub unsafe fn new(strings: *const *const c_char) -> Environment {
        Environment(strings)
    }

    fn variable(self, name: &[u8]) -> Option<&'static CStr> {
        let mut at = self.0;
        // SAFETY: as `new` demands.
        while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| !entry.is_null()) {
            // Compares byte by byte: every program walks the whole environment here. SAFETY: as above; the comparison
            // ends with the string.
            let is_it = (0..name.len()).all(|at| unsafe { *entry.add(at) } as u8 == name[at]);
            // SAFETY: as above, and none of the bytes of `name` is the NUL.
            if is_it && unsafe { *entry.add(name.len()) } as u8 == b'=' {
                // SAFETY: as above.
                return Some(unsafe { CStr::from_ptr(entry.add(name.len() + 1)) });
            }
            // SAFETY: this entry was not the null pointer at the end.
            at = unsafe { at.add(1) };
        }
        None
    }
}

/// The usual places of trust. A source on another file system is read and compared at each load. Paths from the
/// environment, the home directory and the working directory are left out: they may be on a server that does not
/// answer, and every program would wait for it at startup.
const PLACES: [&CStr; 4] = [c"/", c"/etc/ssl/certs/ca-certificates.crt", c"/usr/share", c"/tmp"];

/// The effective user at the time the library was loaded.
pub fn first_user() -> libc::uid_t {
    prepared().map_or_else(kernel::effective_user, |prepared| prepared.user)
}

fn prepared() -> Option<&'static Prepared> {
    PREPARED.get()
}

/// Whether the library may do anything in this process, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    Disabled,
    Secure,
    Audited,
    Enabled,
}

/// Whether the library may do anything in this process.
pub fn enabled() -> bool {
    STATE.load(Ordering::Relaxed) == State::Enabled as u8
}

/// The decision about this process.
pub fn state() -> State {
    let number = STATE.load(Ordering::Relaxed);
    let all = [State::Disabled, State::Secure, State::Audited, State::Enabled];
    all.into_iter().find(|state| *state as u8 == number).unwrap_or(State::Disabled)
}

static STATE: AtomicU8 = AtomicU8::new(State::Disabled as u8);

/// Decides, when the library is loaded, whether it may do anything in this process.
pub fn decide(environment: Environment) -> bool {
    // Under secure execution (set-user-ID and the like) the environment is not to be trusted, nor is anything that a
    // less privileged user prepared: the library stays out altogether. SAFETY: getauxval has no preconditions.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let is_set = |name: &[u8]| environment.variable(name).is_some_and(|value| !matches!(value.to_bytes(), b"" | b"0"));
    let switched_off = || is_set(b"WINDLASS_DISABLE");
    // An auditor sees, and decides, where a slot leads when it is bound (rtld-audit(7)).
    let is_audited = || environment.variable(b"LD_AUDIT").is_some_and(|value| !value.is_empty());
    let state = match () {
        () if secure => State::Secure,
        () if switched_off() => State::Disabled,
        () if is_audited() => State::Audited,
        () => State::Enabled,
    };
    STATE.store(state as u8, Ordering::Relaxed);
    FOLLOWS.store(state == State::Enabled && is_set(b"WINDLASS_FOLLOW"), Ordering::Relaxed);
    state == State::Enabled
}

/// Set by `WINDLASS_FOLLOW`.
static FOLLOWS: AtomicBool = AtomicBool::new(false);

/// Whether stores follow their sources.
pub fn follows() -> bool {
    FOLLOWS.load(Ordering::Relaxed)
}

/// Set while nothing new is served.
static IS_LEAVING: AtomicBool = AtomicBool::new(false);

/// Whether the library is detaching or detached. Calls through pointers from `dlsym` then go on to the originals.
pub fn is_leaving() -> bool {
    IS_LEAVING.load(Ordering::SeqCst)
}

/// See [`is_leaving`].
pub fn set_leaving(is_leaving: bool) {
    IS_LEAVING.store(is_leaving, Ordering::SeqCst);
}

/// Adds to a counter.
pub fn count(label: impl Label, n: u64) {
    stats().add(label.slot(), n);
}

/// The value of the counter with this number; 0 if nothing was counted yet. Allocates nothing.
pub fn counter(slot: usize) -> u64 {
    known_stats().map_or(0, |stats| stats.value(slot))
}

/// Counts the events of the cache.
struct Counted;

impl Observer for Counted {
    fn note(&self, event: CacheEvent, n: u64) {
        count(event, n);
    }
}

/// The root stores of this process, by source.
pub fn cache() -> &'static TrustCache {
    static CACHE: ForEachProcess<TrustCache> = ForEachProcess::new();
    CACHE.get(|parent| {
        count(Event::ProcessAttached, 1);
        parent.map_or_else(new_cache, TrustCache::fork)
    })
}

fn new_cache() -> TrustCache {
    let max_age = environment(c"WINDLASS_MAX_AGE").and_then(|value| MaxAge::parse(value.to_str()?)).unwrap_or_default();
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
    // A truncated variable must not count as unset.
    let stores = Some(Directories::from_environment(variable)).filter(|_| !is_short.get());
    let stores = stores.unwrap_or_else(Directories::none);
    static NONE: FileSystems = FileSystems::none();
    let file_systems = prepared().map_or(&NONE, |prepared| &prepared.file_systems);
    TrustCache::in_guest(Config { max_age, stores, ..Config::default() }, Some(&Counted), file_systems)
}

/// An environment variable; None under secure execution.
pub fn environment(name: &CStr) -> Option<&'static OsStr> {
    let value = environment_pointer(name)?;
    Some(OsStr::from_bytes(value.to_bytes()))
}

/// As [`environment`], as a C string. OpenSSL reads its variables with `secure_getenv` at each call; so do we.
pub fn environment_pointer(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: NUL-terminated name. The value is used before control returns to the program, and the program must not
    // change the environment while another thread reads it.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: values in the environment are NUL-terminated.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

unsafe extern "C" {
    /// Present in glibc 2.17 and musl 1.1.24.
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// For the tests, in builds that are never released: from now on, all memory within hooked calls comes from the
/// reserve. Returns the most bytes that a single call has used so far.
#[cfg(feature = "sabotage")]
#[unsafe(no_mangle)]
pub extern "C" fn windlass_measure_reserve() -> u64 {
    windlass_interpose::reserve::measured::refuse();
    windlass_interpose::reserve::measured::most()
}

static STATS: AtomicPtr<Stats> = AtomicPtr::new(ptr::null_mut());

fn known_stats() -> Option<&'static Stats> {
    // SAFETY: only pointers from `&'static Stats` are stored.
    unsafe { STATS.load(Ordering::Acquire).as_ref() }
}

fn stats() -> &'static Stats {
    if let Some(stats) = known_stats() {
        return stats;
    }
    let attached = prepared().and_then(|prepared| prepared.stats);
    let fresh = attached.unwrap_or_else(|| Stats::private(&LABELS));
    publish(&STATS, fresh)
}

/// All threads count in the same: what the first has published. The others' are lost, a few hundred bytes each.
fn publish(place: &AtomicPtr<Stats>, fresh: &'static Stats) -> &'static Stats {
    let mine = ptr::from_ref(fresh).cast_mut();
    match place.compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => fresh,
        // SAFETY: only pointers from `&'static Stats` are stored.
        Err(first) => unsafe { &*first },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_has_counted_is_not_lost_to_a_later_one() {
        let place = AtomicPtr::new(ptr::null_mut());
        let [first, second] = [(), ()].map(|()| publish(&place, Stats::private(&LABELS)));
        assert!(ptr::eq(first, second));
    }
}
