//! Which copy of a foreign library a caller means: a process can hold several, and objects of one must not reach another.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use windlass_interpose::callers::Callers;
use windlass_interpose::definitions::Name;
use windlass_interpose::fork_lock::ForkLock;
use windlass_interpose::hook::Caller;
use windlass_interpose::image::Image;
use windlass_interpose::object::{self, Object};

use crate::{interposers, loaded, script};

/// A loaded foreign library.
pub trait Foreign: Send + Sync + Sized + 'static {
    /// The table of its hooked functions.
    type Originals;

    /// Where its copies are kept.
    fn registry() -> &'static Registry<Self>;
    /// Makes the acquaintance of a loaded object; `None` if it is not such a library.
    fn open(object: Object) -> Option<Self>;
    /// Where it is loaded.
    fn object(&self) -> &Place;
    /// Its own definitions of the hooked functions.
    fn originals(&self) -> &Self::Originals;
}

/// Where a library was loaded. No reference is held: what a program unloads is unloaded, as without us.
pub struct Place {
    object: Object,
    dynamic: usize,
}

impl Place {
    /// Of a loaded object.
    pub fn new(object: Object) -> Place {
        Place { object, dynamic: loaded::dynamic_section(&object) }
    }

    /// The object.
    pub fn object(&self) -> Object {
        self.object
    }

    /// Whether it is this object.
    fn is(&self, object: &Object) -> bool {
        self.object.link_map == object.link_map && self.dynamic == loaded::dynamic_section(object)
    }

    /// Whether it is still loaded there.
    pub fn is_there(&self) -> bool {
        Object::of(self.object.start).is_some_and(|now| self.is(&now))
    }

    /// Whether the address belongs to it.
    pub fn contains(&self, address: usize) -> bool {
        self.object.contains(address)
    }
}

/// The copies of one library.
pub struct Registry<L: 'static> {
    /// A function that each copy defines, and that no hook of any library of this project stands in front of.
    anchor: Name<'static>,
    callers: Callers<L>,
    loaded: [AtomicPtr<L>; 16],
    registering: ForkLock,
}

impl<L: Foreign> Registry<L> {
    /// None has been met.
    pub const fn new(anchor: Name<'static>) -> Registry<L> {
        Registry {
            anchor,
            callers: Callers::new(),
            loaded: [const { AtomicPtr::new(ptr::null_mut()) }; 16],
            registering: ForkLock::new(),
        }
    }

    /// The library that code at this address means.
    pub fn of(&self, address: usize) -> Option<&'static L> {
        let object = Object::of(address)?;
        // Most calls are those of a library that calls itself.
        let is_there = |place: &Place| place.is(&object) || place.is_there();
        if let Some(known) = self.callers.find(&object).filter(|known| is_there(known.library.object())) {
            return Some(known.library);
        }
        script::look();
        let anchor = match loaded::defining(self.anchor)[..] {
            [only] => only,
            // Which of several it is, the dynamic linker has to say.
            _ => object::original(address, self.anchor.text())? as usize,
        };
        let library = self.defining(anchor)?;
        self.callers.remember(&object, library, false);
        Some(library)
    }

    /// Whether an address lies in one of the copies that are known.
    pub fn contains(&self, address: usize) -> bool {
        self.met().any(|library| library.object().contains(address))
    }

    fn defining(&self, address: usize) -> Option<&'static L> {
        let known = || self.met().find(|library| library.object().contains(address));
        if let Some(library) = known() {
            return Some(library);
        }
        // Made before the lock is taken: it may need a lock of the dynamic linker's, whose holder may be waiting for ours.
        let fresh = L::open(Object::of(address)?)?;
        let _guard = self.registering.lock();
        if let Some(library) = known() {
            return Some(library);
        }
        // SAFETY: entries come from Box::leak.
        let known = |entry: &AtomicPtr<L>| unsafe { entry.load(Ordering::Acquire).as_ref() };
        let free = self.loaded.iter().find(|entry| known(entry).is_none_or(|library| !library.object().is_there()))?;
        let library: &'static L = Box::leak(Box::new(fresh));
        free.store(ptr::from_ref(library).cast_mut(), Ordering::Release);
        Some(library)
    }

    /// Those that are still loaded.
    fn met(&self) -> impl Iterator<Item = &'static L> {
        // SAFETY: entries come from Box::leak.
        let all = self.loaded.iter().filter_map(|entry| unsafe { entry.load(Ordering::Acquire).as_ref() });
        all.filter(|library| library.object().is_there())
    }

    /// The function of the only copy that has it, for callers that are not linked against any: a program that found its functions
    /// by `dlsym`, some of which end in a jump to a hooked one, so that the program itself seems to call.
    fn only<F>(&self, pick: &impl Fn(&L::Originals) -> Option<F>) -> Option<F> {
        for address in loaded::defining(self.anchor) {
            self.defining(address);
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
    if let Some(address) = interposers::of(name) {
        // SAFETY: F is the type that the library declares for `name`, an unsafe extern function pointer, as large as an address.
        return Some(unsafe { std::mem::transmute_copy::<usize, F>(&address) });
    }
    let library = library.or_else(|| L::registry().of(caller.address()));
    if let Some(function) = library.and_then(|library| pick(library.originals())) {
        return Some(function);
    }
    // Before the search by name: that may come upon the preload library, which would find us in turn.
    if let Some(function) = L::registry().only(&pick) {
        return Some(function);
    }
    let address = object::original(caller.address(), name).filter(|address| !is_sibling(*address as usize))?;
    // SAFETY: as above.
    Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// Looks names up in what an object itself defines.
pub fn definitions(object: &Object) -> Option<impl Fn(&CStr) -> *mut c_void + use<>> {
    // SAFETY: an object that somebody is calling, so it stays loaded meanwhile.
    let all = unsafe { Image::of_object(object) }.and_then(|image| image.definitions())?;
    Some(move |name: &CStr| all.find(Name::new(name)).map_or(ptr::null_mut(), |address| address as *mut c_void))
}

/// Whether an address lies in a library of this project that stands in front of the same functions.
fn is_sibling(address: usize) -> bool {
    let Some(object) = Object::of(address) else { return false };
    // SAFETY: the link map of a loaded object, and its name, which lives as long.
    is_named_as_sibling(unsafe { CStr::from_ptr((*object.link_map).l_name) })
}

/// Whether a path is that of such a library.
pub fn is_named_as_sibling(path: &CStr) -> bool {
    path.to_bytes().rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(b"libwindlass_"))
}
