//! Which copy of a foreign library a caller means: a process can hold several, and objects of one must not reach another.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use windlass_interpose::callers::Callers;
use windlass_interpose::fork_lock::ForkLock;
use windlass_interpose::hook::Caller;
use windlass_interpose::object::{self, Object};

/// A loaded foreign library.
pub trait Foreign: Send + Sync + Sized + 'static {
    /// The table of its hooked functions.
    type Originals;

    /// Where its copies are kept.
    fn registry() -> &'static Registry<Self>;
    /// Makes the acquaintance of a loaded object; `None` if it is not such a library.
    fn open(object: Object) -> Option<Self>;
    /// Where it is loaded.
    fn object(&self) -> &Object;
    /// Its own definitions of the hooked functions.
    fn originals(&self) -> &Self::Originals;
}

/// The copies of one library.
pub struct Registry<L: 'static> {
    /// A function that each copy defines, and that no hook of any library of this project stands in front of.
    anchor: &'static CStr,
    /// How its `DT_SONAME` begins.
    soname: &'static str,
    callers: Callers<L>,
    loaded: [AtomicPtr<L>; 16],
    registering: ForkLock,
}

impl<L: Foreign> Registry<L> {
    /// None has been met.
    pub const fn new(anchor: &'static CStr, soname: &'static str) -> Registry<L> {
        Registry {
            anchor,
            soname,
            callers: Callers::new(),
            loaded: [const { AtomicPtr::new(ptr::null_mut()) }; 16],
            registering: ForkLock::new(),
        }
    }

    /// The library that code at this address means.
    pub fn of(&self, address: usize) -> Option<&'static L> {
        let object = Object::of(address)?;
        if let Some(known) = self.callers.find(&object) {
            return Some(known.library);
        }
        let library = self.defining(object::original(address, self.anchor)? as usize)?;
        self.callers.remember(&object, library, false);
        Some(library)
    }

    fn defining(&self, address: usize) -> Option<&'static L> {
        let known = || self.met().find(|library| library.object().contains(address));
        if let Some(library) = known() {
            return Some(library);
        }
        // Made before the lock is taken: it needs the dynamic linker's lock, whose holder may be waiting for ours.
        let fresh = L::open(Object::of(address)?)?;
        let _guard = self.registering.lock();
        if let Some(library) = known() {
            return Some(library);
        }
        let free = self.loaded.iter().find(|entry| entry.load(Ordering::Acquire).is_null())?;
        let library: &'static L = Box::leak(Box::new(fresh));
        free.store(ptr::from_ref(library).cast_mut(), Ordering::Release);
        Some(library)
    }

    fn met(&self) -> impl Iterator<Item = &'static L> {
        // SAFETY: entries come from Box::leak.
        self.loaded.iter().filter_map(|entry| unsafe { entry.load(Ordering::Acquire).as_ref() })
    }

    /// The function of the only copy that has it, for callers that are not linked against any: a program that found its functions
    /// by `dlsym`, some of which end in a jump to a hooked one, so that the program itself seems to call.
    fn only<F>(&self, pick: &impl Fn(&L::Originals) -> Option<F>) -> Option<F> {
        for start in object::named(self.soname) {
            let Some(object) = Object::of(start) else { continue };
            let Some(handle) = object::handle_of(&object) else { continue };
            let address = object::defined_by(&object, handle, self.anchor);
            if !address.is_null() {
                self.defining(address as usize);
            }
        }
        let mut found = self.met().filter_map(|library| pick(library.originals()));
        found.next().filter(|_| found.next().is_none())
    }
}

/// The function that a call would have reached without us: that of a known library, else of the caller's.
pub fn forward<L: Foreign, F: Copy>(
    library: Option<&'static L>,
    caller: Caller,
    name: &CStr,
    pick: impl Fn(&L::Originals) -> Option<F>,
) -> Option<F> {
    let library = library.or_else(|| L::registry().of(caller.address()));
    if let Some(function) = library.and_then(|library| pick(library.originals())) {
        return Some(function);
    }
    // Before the search by name: that may come upon the preload library, which would find us in turn.
    if let Some(function) = L::registry().only(&pick) {
        return Some(function);
    }
    let address = object::original(caller.address(), name).filter(|address| !is_sibling(*address as usize))?;
    // SAFETY: F is the type that the library declares for `name`, an unsafe extern function pointer, as large as an address.
    Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// Whether an address lies in another library of this project that stands in front of the same functions.
fn is_sibling(address: usize) -> bool {
    let Some(object) = Object::of(address) else { return false };
    // SAFETY: the link map of a loaded object, and its name, which lives as long.
    let path = unsafe { CStr::from_ptr((*object.link_map).l_name) }.to_bytes();
    path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(b"libwindlass_"))
}
