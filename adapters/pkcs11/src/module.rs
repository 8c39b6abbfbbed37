//! State that exists once per process: the tokens, the sessions, and the number of initialisations.
//!
//! A forked child has no module until it calls C_Initialize, as PKCS#11 requires (2.40, 5.4). It never looks at its
//! parent's state, whose lock may be held by a thread that the child does not have.
//!
//! If something in one place can't be read, no token gives trust: the unreadable part may distrust what another token
//! trusts. Distrust is still reported, because others, such as NSS's own database, may trust the certificate.

use std::collections::HashMap;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cryptoki_sys::*;
use windlass::compiled::Directories;
use windlass::{Config, MaxAge, TrustCache};
use windlass_trust::{TrustLocation, TrustStore};

use crate::call::{Answer, Refusal};
use crate::places::{Place, environment};
use crate::process;
use crate::session::Session;
use crate::snapshot::Snapshot;

/// The module of one process.
pub struct Module {
    /// See [`process::id`]. 0 as long as no process has used it.
    process: AtomicU64,
    state: Mutex<Option<State>>,
}

/// The state between C_Initialize and C_Finalize.
pub struct State {
    /// The number of C_Initialize calls without their C_Finalize. As with p11-kit-trust, each of several users in one
    /// process may make its own.
    uses: usize,
    slots: Vec<Arc<Slot>>,
    sessions: HashMap<CK_SESSION_HANDLE, Arc<Session>>,
}

/// A place and its token.
pub struct Slot {
    pub id: CK_SLOT_ID,
    pub label: String,
    /// Its number among the places.
    place: usize,
    places: Arc<Places>,
    last: Mutex<Option<Last>>,
}

/// The objects as they were last returned.
struct Last {
    store: Arc<TrustStore>,
    is_distrust_only: bool,
    snapshot: Arc<Snapshot>,
}

/// All places of the module.
struct Places {
    locations: Vec<TrustLocation>,
    cache: TrustCache,
}

impl Module {
    const fn unused() -> Module {
        Module { process: AtomicU64::new(0), state: Mutex::new(None) }
    }

    /// Counts one more user, and sets up the tokens for the first.
    pub fn initialize(&self, places: impl FnOnce() -> Vec<Place>) {
        let mut state = self.lock();
        if let Some(state) = state.as_mut() {
            state.uses += 1;
            return;
        }
        let variable = |name: &str| Some(environment(&std::ffi::CString::new(name).ok()?)?.to_owned());
        // The maximum age of a store matters to programs that load often; a session checks its source anyway.
        let config =
            Config { max_age: MaxAge::Forever, stores: Directories::from_environment(variable), ..Config::default() };
        let (labels, paths): (Vec<_>, Vec<_>) = places().into_iter().map(|place| (place.label, place.path)).unzip();
        let locations = paths.into_iter().map(TrustLocation::new).collect();
        let places = Arc::new(Places { locations, cache: TrustCache::new(config, None) });
        let slot = |((place, label), id): ((usize, String), CK_SLOT_ID)| {
            Arc::new(Slot { id, label, place, places: Arc::clone(&places), last: Mutex::new(None) })
        };
        let slots = labels.into_iter().enumerate().zip(1..).map(slot).collect();
        *state = Some(State { uses: 1, slots, sessions: HashMap::new() });
    }

    /// Counts one user less. The last one ends all sessions.
    pub fn finalize(&self) -> Answer {
        let mut guard = self.lock();
        let state = guard.as_mut().ok_or(Refusal(CKR_CRYPTOKI_NOT_INITIALIZED))?;
        state.uses -= 1;
        let gone = if state.uses == 0 { guard.take() } else { None };
        drop(guard);
        drop(gone);
        Ok(())
    }

    /// Works on the state, if there is one. Keep it short: other threads wait.
    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> Answer<T>) -> Answer<T> {
        work(self.lock().as_mut().ok_or(Refusal(CKR_CRYPTOKI_NOT_INITIALIZED))?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub fn slots(&self) -> &[Arc<Slot>] {
        &self.slots
    }

    pub fn slot(&self, id: CK_SLOT_ID) -> Answer<&Arc<Slot>> {
        self.slots.iter().find(|slot| slot.id == id).ok_or(Refusal(CKR_SLOT_ID_INVALID))
    }

    pub fn open(&mut self, session: Session) -> CK_SESSION_HANDLE {
        /// No handle is given twice, even after C_Finalize or by a child, so that an old one is never valid again.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let handle = NEXT.fetch_add(1, Ordering::Relaxed) as CK_SESSION_HANDLE;
        self.sessions.insert(handle, Arc::new(session));
        handle
    }

    pub fn session(&self, handle: CK_SESSION_HANDLE) -> Answer<Arc<Session>> {
        self.sessions.get(&handle).cloned().ok_or(Refusal(CKR_SESSION_HANDLE_INVALID))
    }

    pub fn close(&mut self, handle: CK_SESSION_HANDLE) -> Answer<Arc<Session>> {
        self.sessions.remove(&handle).ok_or(Refusal(CKR_SESSION_HANDLE_INVALID))
    }

    pub fn close_all(&mut self, slot: CK_SLOT_ID) -> Vec<Arc<Session>> {
        self.sessions.extract_if(|_, session| session.slot.id == slot).map(|(_, session)| session).collect()
    }
}

impl Slot {
    /// The path of this token's trust.
    pub fn path(&self) -> &Path {
        self.places.locations.get(self.place).map_or(Path::new(""), TrustLocation::path)
    }

    /// The current objects. The previous snapshot is returned if nothing has changed.
    pub fn snapshot(&self) -> Answer<Arc<Snapshot>> {
        let (store, is_distrust_only) = self.places.load(self.place)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |last: &&Last| Arc::ptr_eq(&last.store, &store) && last.is_distrust_only == is_distrust_only;
        if let Some(last) = last.as_ref().filter(is_same) {
            return Ok(Arc::clone(&last.snapshot));
        }
        let told = if is_distrust_only { Arc::new(store.distrust_only()) } else { Arc::clone(&store) };
        let snapshot = Arc::new(Snapshot::new(told));
        *last = Some(Last { store, is_distrust_only, snapshot: Arc::clone(&snapshot) });
        Ok(snapshot)
    }
}

impl Places {
    /// The current contents of one place, and whether only its distrust counts: something could not be read, there or
    /// elsewhere.
    fn load(&self, place: usize) -> Answer<(Arc<TrustStore>, bool)> {
        let mut wanted = None;
        let mut is_distrust_only = false;
        for (number, location) in self.locations.iter().enumerate() {
            let store = location.load(&self.cache);
            is_distrust_only |= store.fault().is_some();
            if number == place {
                wanted = Some(store);
            }
        }
        wanted.map(|store| (store, is_distrust_only)).ok_or(Refusal(CKR_SLOT_ID_INVALID))
    }
}

/// The module of this process.
pub fn current() -> &'static Module {
    static FIRST: Module = Module::unused();
    /// The module of a forked process; null as long as there was no fork.
    static FORKED: AtomicPtr<Module> = AtomicPtr::new(ptr::null_mut());

    let me = process::id();
    let seen = FORKED.load(Ordering::Acquire);
    // SAFETY: only pointers from Box::into_raw are stored, and a stored one is never freed.
    let known = unsafe { seen.as_ref() }.unwrap_or(&FIRST);
    match known.process.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => return known,
        Err(owner) if owner == me => return known,
        Err(_) => {}
    }
    let fresh = Module::unused();
    fresh.process.store(me, Ordering::Relaxed);
    let fresh = Box::into_raw(Box::new(fresh));
    match FORKED.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire) {
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
