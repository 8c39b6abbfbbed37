//! The cache: source to root store, believed only as long as the source has not changed.
//!
//! What it can't notice: a change made through a shared writable mapping, as the kernel sets the timestamps when a
//! page is first written to, and not again before it has written the page back; and that this process has meanwhile
//! shut itself out by Landlock or AppArmor, which neither access(2) nor the mode tells. It then serves what the
//! process could read when it was loaded.

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
use crate::source::{Reading, Source, SourceRef, State, cafile};
use slot::{Entry, Outcome, Slot, Turn};
use table::Slots;

/// What a cache does: see [`Observer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum CacheEvent {
    /// A source was indexed.
    Load,
    /// A call was served without reading.
    Hit,
    /// A source was read again and found unchanged.
    Revalidation,
    /// A call waited for another thread's load.
    Wait,
    /// Bytes were read of a source.
    BytesRead,
    /// A source was taken from a compiled store that was fresh.
    Compiled,
    /// The same from one that was fresh by content.
    CompiledByContent,
    /// A compiled store was of another state of the source.
    CompiledStale,
    /// Others may have written a compiled store.
    CompiledDistrusted,
    /// A compiled store was damaged.
    CompiledMalformed,
}

impl CacheEvent {
    /// All of them, in the order of their numbers.
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

/// Who is told what a cache does, to count it. It is called in the middle of a load, from any thread: it should wait
/// for nothing and not use the cache.
pub trait Observer: Send + Sync {
    /// Something happened: `n` times, or with so many bytes.
    fn note(&self, event: CacheEvent, n: u64);
}

/// How long a store may be used although its source has not changed. As `CURLOPT_CA_CACHE_TIMEOUT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxAge {
    /// Nothing is cached.
    Never,
    /// As long as the source does not change.
    Forever,
    /// At most so many seconds.
    Seconds(u64),
}

impl MaxAge {
    /// Reads a number of seconds: `0` for never, `-1` for ever. None if it is something else.
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

/// How a cache behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// How long a store may be used.
    pub max_age: MaxAge,
    /// Where compiled stores are looked for. One is taken in place of a first look at a source, and when a source has
    /// changed; not when the maximum age demands that the source is read again.
    pub stores: Directories,
}

/// One for each process: keeps the root store of each source, and looks at the source on each use.
pub struct TrustCache {
    config: Config,
    observer: Option<&'static dyn Observer>,
    system: Arc<dyn System>,
    slots: RwLock<Slots>,
    /// Loads so far: the clock by which slots are used longer ago or more recently.
    loads: AtomicU64,
}

impl TrustCache {
    /// An empty cache.
    pub fn new(config: Config, observer: Option<&'static dyn Observer>) -> TrustCache {
        TrustCache::with_system(config, observer, Arc::new(Real))
    }

    /// An empty cache for a process that may have shut itself into a system call filter: a load makes no system call
    /// but those that every load of a file has (open, fstat, read, close). So what file systems there are is asked
    /// before.
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

    /// The store of a source as it is now.
    pub fn load(&self, source: &Source) -> Result<Arc<RootStore>, LoadError> {
        self.load_ref(source.borrow())
    }

    /// The store of a PEM file as it is now. Allocates nothing if the file has not changed.
    pub fn load_cafile(&self, path: &Path) -> Result<Arc<RootStore>, LoadError> {
        self.load_ref(SourceRef::Cafile(path))
    }

    /// As [`TrustCache::load_cafile`], of a file that the stock library looks at by its name before it is opened, as it
    /// does in hashed directories. If everybody may read it, and it has not changed, it is looked at in the same way,
    /// and not opened.
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

    /// Whether a PEM file was loaded before and may still be here, as it was then. Looks at no file.
    pub fn holds_cafile(&self, path: &Path) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.of(SourceRef::Cafile(path)).slots.get(path.as_os_str()).is_some_and(|slot| slot.may_serve(|_| true))
    }

    /// Another cache, with what is finished in this one, that shares no lock with it. Never waits: what another thread
    /// is just working on is left out. So a forked child goes on from its parent's cache, whose locks may be held for
    /// ever by threads that it does not have.
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
                        // The load may have begun before this call: look whether it is still what the source is.
                        Outcome::Loaded => {}
                        Outcome::Failed(error) => return Err(error),
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

    /// A file that was loaded by another name, and is still what it was, is not read again.
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

    /// Takes the compiled store of this state, if there is one; else reads the source.
    #[inline(never)]
    fn load_now(&self, source: SourceRef<'_>, state: State, previous: Option<Entry>) -> Result<Entry, LoadError> {
        // What another user vouched for is not even compared with.
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

    /// Reads the source, and indexes it unless it is what the entry before, or a compiled store, was made of.
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
        let store = reading.index(source)?;
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
        let path = source.path().as_os_str();
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.of(source).slots.get(path) {
            return Ok(Arc::clone(slot));
        }
        drop(slots);
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.insert(source, path, self.loads.load(Ordering::Relaxed));
        slot.map_err(|what| LoadError::Unsupported { path: memory::path(source.path()), what })
    }

    fn count(&self, event: CacheEvent, n: u64) {
        if let Some(observer) = self.observer {
            observer.note(event, n);
        }
    }
}

/// What others derived from the store before (parsed certificates) stays good if nothing changed, and the same vouches
/// for it.
fn same_or_new(previous: Option<Entry>, store: RootStore, voucher: Voucher) -> Arc<RootStore> {
    let same = previous.filter(|entry| entry.voucher == voucher && entry.store.has_same_certificates(&store));
    same.map_or_else(|| Arc::new(store), |entry| entry.store)
}
