//! What exists once per process: the tokens, the sessions, and how often the module was initialised.
//!
//! A forked child has no module until it calls C_Initialize, as PKCS#11 wants it (2.40, 5.4); it never looks at what it got
//! of its parent, where a thread that it has not may hold a lock.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use cryptoki_sys::*;
use windlass::compiled::Directories;
use windlass::trust::TrustLocation;
use windlass::{Config, MaxAge, TrustCache};

use crate::call::{Answer, Refusal};
use crate::places::{Place, environment};
use crate::session::Session;
use crate::snapshot::Snapshot;

/// The one of this process.
pub struct Module {
    /// 0 as long as no process has used it.
    process: AtomicU32,
    state: Mutex<Option<State>>,
}

/// What there is between C_Initialize and C_Finalize.
pub struct State {
    /// C_Initialize without its C_Finalize. As with p11-kit-trust each of several users of one process may have its own.
    uses: usize,
    slots: Vec<Arc<Slot>>,
    sessions: HashMap<CK_SESSION_HANDLE, Arc<Session>>,
    last_session: CK_SESSION_HANDLE,
}

/// A place and its token.
pub struct Slot {
    pub id: CK_SLOT_ID,
    pub label: String,
    location: TrustLocation,
    cache: Arc<TrustCache>,
    last: Mutex<Option<Arc<Snapshot>>>,
}

impl Module {
    const fn unused() -> Module {
        Module { process: AtomicU32::new(0), state: Mutex::new(None) }
    }

    /// Counts a user more, and sets up the tokens for the first.
    pub fn initialize(&self, places: impl FnOnce() -> Vec<Place>) {
        let mut state = self.lock();
        if let Some(state) = state.as_mut() {
            state.uses += 1;
            return;
        }
        let variable = |name: &str| Some(environment(&std::ffi::CString::new(name).ok()?)?.to_owned());
        // How old a store may be is for programs that load often; a session looks at its source anyhow.
        let config = Config { max_age: MaxAge::Forever, stores: Directories::from_environment(variable) };
        let cache = Arc::new(TrustCache::new(config, None));
        let slot = |(place, id): (Place, CK_SLOT_ID)| {
            Arc::new(Slot {
                id,
                label: place.label,
                location: TrustLocation::new(place.path),
                cache: Arc::clone(&cache),
                last: Mutex::new(None),
            })
        };
        let slots = places().into_iter().zip(1..).map(slot).collect();
        *state = Some(State { uses: 1, slots, sessions: HashMap::new(), last_session: 0 });
    }

    /// Counts a user less. With the last all sessions go.
    pub fn finalize(&self) -> Answer {
        let mut guard = self.lock();
        let state = guard.as_mut().ok_or(Refusal(CKR_CRYPTOKI_NOT_INITIALIZED))?;
        state.uses -= 1;
        let gone = if state.uses == 0 { guard.take() } else { None };
        drop(guard);
        drop(gone);
        Ok(())
    }

    /// Works on the state, if there is one. Short: others wait.
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
        self.last_session += 1;
        self.sessions.insert(self.last_session, Arc::new(session));
        self.last_session
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
    /// Where the trust of this token is.
    pub fn path(&self) -> &std::path::Path {
        self.location.path()
    }

    /// The objects as they are now. The same as before if nothing has changed.
    pub fn snapshot(&self) -> Answer<Arc<Snapshot>> {
        let store = self.location.load(&self.cache).map_err(|_| Refusal(CKR_DEVICE_ERROR))?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = last.as_ref().filter(|snapshot| Arc::ptr_eq(&snapshot.store, &store)) {
            return Ok(Arc::clone(snapshot));
        }
        let snapshot = Arc::new(Snapshot::new(store));
        *last = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }
}

/// The module of this process.
pub fn current() -> &'static Module {
    static FIRST: Module = Module::unused();
    /// Of a forked process; null as long as there was no fork.
    static FORKED: AtomicPtr<Module> = AtomicPtr::new(ptr::null_mut());
    static SILENT: Once = Once::new();

    // A panic message would go to the host's standard error. This hook belongs to our own copy of std.
    SILENT.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let me = std::process::id();
    let seen = FORKED.load(Ordering::Acquire);
    // SAFETY: only pointers from Box::into_raw are stored, and none that was stored is ever freed.
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
