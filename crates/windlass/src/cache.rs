//! The cache: maps each source to its root store, and uses a store only while its source is unchanged.
//!
//! It can't notice two things. One is a change made through a shared writable mapping: the kernel sets the timestamps
//! when a page is first written, and not again until it has written the page back. The other is this process locking
//! itself out of the file by Landlock or AppArmor, which neither access(2) nor the mode shows: the cache then serves
//! the content that the process could read when it loaded the file.

pub(crate) mod seeded;
mod slot;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use crate::compiled::{self, Candidate, Directories, Found, ReadError, Voucher, is_vouched_for};
use crate::error::LoadError;
use crate::memory;
use crate::root_store::RootStore;
use crate::source::system::{FileSystems, Guest, Real, System};
use crate::source::{Contents, Reading, Source, SourceRef, State, cafile};
use slot::{Entry, Outcome, Slot, Turn};
use table::Slots;

/// The events that a cache reports to its [`Observer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum CacheEvent {
    /// A source was indexed.
    Load,
    /// A call was served without reading the source.
    Hit,
    /// A source was read again and found unchanged.
    Revalidation,
    /// A call waited for another thread's load.
    Wait,
    /// Bytes of a source were read.
    BytesRead,
    /// A source was taken from a fresh compiled store.
    Compiled,
    /// A source was taken from a compiled store that was fresh by content.
    CompiledByContent,
    /// A compiled store was of an older state of the source.
    CompiledStale,
    /// A compiled store was refused because other users may have written it.
    CompiledDistrusted,
    /// A compiled store was damaged.
    CompiledMalformed,
}

impl CacheEvent {
    /// All events, in numeric order.
    pub const ALL: [CacheEvent; 10] = [
        CacheEvent::Load,
        CacheEvent::Hit,
        CacheEvent::Revalidation,
        CacheEvent::Wait,
        CacheEvent::BytesRead,
        CacheEvent::Compiled,
        CacheEvent::CompiledByContent,
        CacheEvent::CompiledStale,
        CacheEvent::CompiledDistrusted,
        CacheEvent::CompiledMalformed,
    ];
}

/// Receives the events of a cache, to count them. It is called in the middle of a load, from any thread: it should
/// never wait, and must not use the cache.
pub trait Observer: Send + Sync {
    /// An event happened `n` times, or with `n` bytes.
    fn note(&self, event: CacheEvent, n: u64);
}

/// How long a store may be used while its source is unchanged. Like `CURLOPT_CA_CACHE_TIMEOUT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxAge {
    /// Nothing is cached.
    Never,
    /// As long as the source does not change.
    Forever,
    /// At most this many seconds.
    Seconds(u64),
}

impl MaxAge {
    /// Parses a number of seconds: `0` for never, `-1` for forever. None for anything else.
    pub fn parse(text: &str) -> Option<MaxAge> {
        match text.parse::<i64>().ok()? {
            -1 => Some(MaxAge::Forever),
            0 => Some(MaxAge::Never),
            seconds => u64::try_from(seconds).ok().map(MaxAge::Seconds),
        }
    }
}

impl Default for MaxAge {
    /// A day, as in curl.
    fn default() -> MaxAge {
        MaxAge::Seconds(24 * 60 * 60)
    }
}

/// The settings of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// How long a store may be used while its source is unchanged.
    pub max_age: MaxAge,
    /// The directories searched for compiled stores. A compiled store can replace the first read of a source and the
    /// read after a change, but not the read that the maximum age demands.
    pub stores: Directories,
    /// What is read. Compiled stores are only made of sources without CRLs.
    pub contents: Contents,
}

/// One for each process: keeps the root store of each source, and checks the source on each use.
pub struct TrustCache {
    config: Config,
    observer: Option<&'static dyn Observer>,
    system: Arc<dyn System>,
    slots: RwLock<Slots>,
    /// Loads so far: the clock that orders slots by their last use.
    loads: AtomicU64,
}

impl TrustCache {
    /// An empty cache.
    pub fn new(config: Config, observer: Option<&'static dyn Observer>) -> TrustCache {
        TrustCache::with_system(config, observer, Arc::new(Real))
    }

    /// An empty cache for a process that may have put itself behind a system call filter. A load makes only the system
    /// calls that every load of a file makes (open, fstat, read, close), and therefore the mounted file systems are
    /// listed before.
    pub fn in_guest(
        config: Config,
        observer: Option<&'static dyn Observer>,
        file_systems: &'static FileSystems,
    ) -> TrustCache {
        TrustCache::with_system(config, observer, Arc::new(Guest(file_systems)))
    }

    fn with_system(config: Config, observer: Option<&'static dyn Observer>, system: Arc<dyn System>) -> TrustCache {
        TrustCache { config, observer, system, slots: RwLock::default(), loads: AtomicU64::new(0) }
    }

    /// The store of a source in its current state.
    pub fn load(&self, source: &Source) -> Result<Arc<RootStore>, LoadError> {
        self.load_ref(source.borrow())
    }

    /// The store of a PEM file in its current state. Allocates nothing if the file is unchanged.
    pub fn load_cafile(&self, path: &Path) -> Result<Arc<RootStore>, LoadError> {
        self.load_ref(SourceRef::Cafile(path))
    }

    /// Like [`TrustCache::load_cafile`], for a file that the stock library stats by name before it opens it, as it does
    /// in hashed directories. If everybody may read the file and it is unchanged, this only stats it too, and does not
    /// open it.
    pub fn load_listed(&self, path: &Path) -> Result<Arc<RootStore>, LoadError> {
        let source = SourceRef::Cafile(path);
        if let Some(slot) = self.known(source)
            && let Some(state) = source.observe_listed()?
            && let Some(store) = slot.served(|entry| self.serves(entry, &state))
        {
            return Ok(self.hit(&slot, store));
        }
        self.load_ref(source)
    }

    /// Whether a PEM file was loaded before and its store may still be cached in that state. Touches no file.
    pub fn holds_cafile(&self, path: &Path) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.of(SourceRef::Cafile(path)).slots.get(path.as_os_str()).is_some_and(|slot| slot.may_serve(|_| true))
    }

    /// Another cache with the finished loads of this one, sharing no lock with it. Never waits: a source that another
    /// thread is loading right now is left out. A forked child continues with a copy of its parent's cache,
    /// because threads that do not exist in the child may hold the parent's locks forever.
    pub fn fork(&self) -> TrustCache {
        let new = TrustCache::with_system(self.config.clone(), self.observer, Arc::clone(&self.system));
        let guard = match self.slots.try_read() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return new,
        };
        let slots = guard.fork();
        TrustCache { slots: RwLock::new(slots), ..new }
    }

    fn load_ref(&self, source: SourceRef<'_>) -> Result<Arc<RootStore>, LoadError> {
        if self.config.max_age == MaxAge::Never {
            return self.read_now(source, None, None).map(|entry| entry.store);
        }
        let mut waited = false;
        loop {
            let state = source.observe_in(&*self.system)?;
            let slot = self.slot(source)?;
            match slot.turn(|entry| self.serves(entry, &state)) {
                Turn::Hit(store) => return Ok(self.hit(&slot, store)),
                Turn::Load(mut loader) => {
                    let outcome = match loader.previous.take() {
                        None => self.load_first(source, state, &slot),
                        previous => self.load_now(source, state, previous),
                    };
                    let store = outcome.as_ref().map(|entry| Arc::clone(&entry.store)).map_err(Clone::clone);
                    loader.finish(outcome);
                    return store;
                }
                Turn::Wait(flight) => {
                    if !waited {
                        self.count(CacheEvent::Wait, 1);
                        waited = true;
                    }
                    match flight.wait() {
                        // The load may have begun before this call: check that the source is still in that state.
                        Outcome::Loaded => {}
                        Outcome::Failed(error) => return Err(error.clone()),
                        Outcome::Interrupted => {
                            return Err(LoadError::Interrupted { path: memory::path(source.path()) });
                        }
                    }
                }
            }
        }
    }

    fn serves(&self, entry: &Entry, state: &State) -> bool {
        entry.believed && entry.state == *state && is_vouched_for(entry.voucher) && !self.is_too_old(entry)
    }

    fn is_too_old(&self, entry: &Entry) -> bool {
        match self.config.max_age {
            MaxAge::Never => true,
            MaxAge::Forever => false,
            MaxAge::Seconds(seconds) => {
                self.system.monotonic().saturating_duration_since(entry.since) >= Duration::from_secs(seconds)
            }
        }
    }

    /// A file that was loaded under another name and is unchanged is not read again.
    #[inline(never)]
    fn load_first(&self, source: SourceRef<'_>, state: State, slot: &Arc<Slot>) -> Result<Entry, LoadError> {
        if let State::File(identity) = &state {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            let twin = slots.of_file(identity);
            drop(slots);
            let entry = twin.and_then(|twin| twin.try_entry()).filter(|entry| self.serves(entry, &state));
            let entry = entry.filter(|_| cafile::opens(source.path(), identity));
            if let Some(entry) = entry {
                self.count(CacheEvent::Hit, 1);
                return Ok(entry);
            }
        }
        let entry = self.load_now(source, state, None)?;
        if let (State::File(identity), true) = (&entry.state, entry.believed) {
            self.slots.write().unwrap_or_else(PoisonError::into_inner).loaded(identity, slot);
        }
        Ok(entry)
    }

    /// Takes the compiled store of this state, if there is one; otherwise reads the source.
    #[inline(never)]
    fn load_now(&self, source: SourceRef<'_>, state: State, previous: Option<Entry>) -> Result<Entry, LoadError> {
        // A store that another user vouched for is not even used for comparison.
        let previous = previous.filter(|entry| is_vouched_for(entry.voucher));
        if previous.as_ref().is_some_and(|entry| self.is_too_old(entry)) {
            return self.read_now(source, previous, None);
        }
        let refuse = |error: &ReadError| {
            let malformed = matches!(error, ReadError::Malformed { .. });
            self.count(if malformed { CacheEvent::CompiledMalformed } else { CacheEvent::CompiledDistrusted }, 1);
        };
        match compiled::find(&self.config.stores, source, &state, refuse) {
            Found::Fresh(store, voucher) => {
                self.count(CacheEvent::Compiled, 1);
                self.loads.fetch_add(1, Ordering::Relaxed);
                let store = same_or_new(previous, store, voucher);
                Ok(Entry { store, state, believed: true, voucher, since: self.system.monotonic(), files: None })
            }
            Found::Other(candidate) => self.read_now(source, previous, Some(candidate)),
            Found::Nothing => self.read_now(source, previous, None),
        }
    }

    /// Reads the source, and indexes it unless the previous entry or a compiled store was made from the same content.
    fn read_now(
        &self,
        source: SourceRef<'_>,
        previous: Option<Entry>,
        compiled: Option<Candidate>,
    ) -> Result<Entry, LoadError> {
        let since: Instant = self.system.monotonic();
        let reading = source.read(&*self.system)?;
        self.count(CacheEvent::BytesRead, reading.bytes());
        let unchanged = previous.as_ref().filter(|entry| {
            !self.is_too_old(entry) && entry.files.as_deref().is_some_and(|files| *files == reading.files)
        });
        let (store, voucher, since) = match unchanged {
            Some(entry) => {
                self.count(CacheEvent::Revalidation, 1);
                (Arc::clone(&entry.store), entry.voucher, entry.since)
            }
            None => {
                let (store, voucher) = self.index(source, &reading, compiled)?;
                self.loads.fetch_add(1, Ordering::Relaxed);
                (same_or_new(previous, store, voucher), voucher, since)
            }
        };
        let files = (!reading.believed).then(|| Arc::new(reading.files));
        Ok(Entry { store, state: reading.state, believed: reading.believed, voucher, since, files })
    }

    #[inline(never)]
    fn index(
        &self,
        source: SourceRef<'_>,
        reading: &Reading,
        compiled: Option<Candidate>,
    ) -> Result<(RootStore, Voucher), LoadError> {
        if let Some(candidate) = compiled {
            if let Some(found) = candidate.into_store_of(reading) {
                self.count(CacheEvent::CompiledByContent, 1);
                return Ok(found);
            }
            self.count(CacheEvent::CompiledStale, 1);
        }
        let store = reading.index(source, self.config.contents)?;
        self.count(CacheEvent::Load, 1);
        Ok((store, None))
    }

    fn hit(&self, slot: &Slot, store: Arc<RootStore>) -> Arc<RootStore> {
        slot.touch(self.loads.load(Ordering::Relaxed));
        self.count(CacheEvent::Hit, 1);
        store
    }

    fn known(&self, source: SourceRef<'_>) -> Option<Arc<Slot>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.of(source).slots.get(source.path().as_os_str()).map(Arc::clone)
    }

    #[inline(never)]
    fn slot(&self, source: SourceRef<'_>) -> Result<Arc<Slot>, LoadError> {
        if let Some(slot) = self.known(source) {
            return Ok(slot);
        }
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.insert(source, source.path().as_os_str(), self.loads.load(Ordering::Relaxed));
        slot.map_err(|what| LoadError::Unsupported { path: memory::path(source.path()), what })
    }

    fn count(&self, event: CacheEvent, n: u64) {
        if let Some(observer) = self.observer {
            observer.note(event, n);
        }
    }
}

/// Data that others derived from the previous store (parsed certificates) stays valid if nothing changed and the
/// voucher is the same.
fn same_or_new(previous: Option<Entry>, store: RootStore, voucher: Voucher) -> Arc<RootStore> {
    let same = previous.filter(|entry| entry.voucher == voucher && entry.store.has_same_content(&store));
    same.map_or_else(|| Arc::new(store), |entry| entry.store)
}
