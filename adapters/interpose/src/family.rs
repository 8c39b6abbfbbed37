//! Kinds of foreign libraries, and the copies of each that a process holds.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

pub use crate::copy::Copy;
use crate::definitions::Name;
use crate::elf::Loaded;
use crate::fork_lock::ForkLock;
use crate::sibling::{Onward, Sibling};

/// The most copies of one kind that a process can hold with all of them served.
pub const COPIES: usize = 8;

/// The number of trampolines for one function: for each copy one per [`Origin`].
pub const TRAMPOLINES: usize = COPIES * Origin::COUNT;

/// A kind of foreign library, for example libcrypto.
pub struct Family {
    /// The functions that identify a copy: an object that defines all of them is one. An interposer may define some.
    anchors: &'static [Name<'static>],
    /// The hooked functions, set by [`Family::stand_with`].
    hooks: AtomicPtr<&'static [Hook]>,
    copies: [Copy; COPIES],
    hidden: AtomicBool,
    onward: AtomicPtr<Onward>,
    is_resident: bool,
}

/// A hooked function.
#[derive(Clone, Copy)]
pub struct Hook {
    /// Its name.
    pub name: Name<'static>,
    /// The address of the trampoline for [`Caller::number`].
    pub trampoline: fn(usize) -> usize,
}

/// The origin of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program, or any other library.
    Program,
    /// The copy itself.
    Itself,
    /// A copy of another family, for example libssl calling libcrypto.
    Companion,
}

impl Origin {
    /// The number of origins.
    pub const COUNT: usize = 3;
}

/// The copy that a hooked call is meant for, and the origin of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Caller(u8);

impl Caller {
    /// The caller for the number of a trampoline, below [`TRAMPOLINES`].
    pub const fn of_trampoline(number: usize) -> Caller {
        Caller(number as u8)
    }

    /// A call of this copy.
    pub const fn new(copy: usize, origin: Origin) -> Caller {
        Caller((copy * Origin::COUNT + origin as usize) as u8)
    }

    /// The number of the trampoline.
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// The number of the copy.
    pub const fn copy(self) -> usize {
        self.number() / Origin::COUNT
    }

    /// Whether the library calls itself.
    pub const fn is_own(self) -> bool {
        self.number() % Origin::COUNT == Origin::Itself as usize
    }

    /// Whether a library of another family calls.
    pub const fn is_companion(self) -> bool {
        self.number() % Origin::COUNT == Origin::Companion as usize
    }
}

impl Family {
    /// A family without any copy yet.
    pub const fn new(anchors: &'static [Name<'static>]) -> Family {
        Family {
            anchors,
            hooks: AtomicPtr::new(ptr::null_mut()),
            copies: [const { Copy::new() }; COPIES],
            hidden: AtomicBool::new(false),
            onward: AtomicPtr::new(ptr::null_mut()),
            is_resident: false,
        }
    }

    /// The same, with copies that are never unloaded once they are met.
    pub const fn resident(anchors: &'static [Name<'static>]) -> Family {
        let mut family = Family::new(anchors);
        family.is_resident = true;
        family
    }

    /// Sets the hooked functions. This is not done in `new`, because the handlers of the hooks refer to the family.
    pub(crate) fn stand_with(&self, hooks: &'static &'static [Hook]) {
        self.hooks.store(ptr::from_ref(hooks).cast_mut(), Ordering::Release);
    }

    /// The hooked functions. Empty before the library has attached.
    pub fn hooks(&self) -> &'static [Hook] {
        // SAFETY: only a `&'static &'static [Hook]` is stored.
        unsafe { self.hooks.load(Ordering::Acquire).as_ref() }.map_or(&[], |hooks| hooks)
    }

    /// From now on calls go on to the function that they would have reached without us, which may be another
    /// interposer's: through these variables.
    pub fn stand_in_front(&self, onward: &'static Onward) {
        self.onward.store(ptr::from_ref(onward).cast_mut(), Ordering::Release);
    }

    /// The variables through which calls go on, for a library that stands in front of others.
    pub fn onward(&self) -> Option<&'static Onward> {
        // SAFETY: only a `&'static Onward` is stored.
        unsafe { self.onward.load(Ordering::Acquire).as_ref() }
    }

    /// The function that a call would have reached without us.
    pub fn original(&self, caller: Caller, name: Name) -> Option<usize> {
        let onward = self.onward().zip(self.hook(name));
        let known = onward.map_or(0, |(onward, hook)| onward.variable(caller, hook).load(Ordering::Acquire));
        if known != 0 { Some(known) } else { self.copy(caller.copy()).find(name) }
    }

    /// Whether calls of a trampoline can go on to `target`, which is the copy's own definition or something in front of
    /// it. Always true, except for a library that stands in front of others.
    pub(crate) fn claim(&self, sibling: &Sibling, caller: Caller, hook: usize, target: usize) -> bool {
        match self.onward() {
            Some(onward) => onward.claim(caller, hook, target, |address| sibling.definition(address)),
            None => true,
        }
    }

    /// A copy that a call was meant for.
    pub fn copy(&self, number: usize) -> &Copy {
        &self.copies[number % COPIES]
    }

    /// All loaded copies, with their numbers.
    pub fn copies(&self) -> impl Iterator<Item = (usize, &Copy)> {
        // Places are used from the first on.
        let taken = self.copies.iter().take_while(|copy| !copy.is_free());
        taken.enumerate().filter(|(_, copy)| copy.object().is_some())
    }

    /// Whether no copy is loaded.
    pub fn is_absent(&self) -> bool {
        self.copies().next().is_none()
    }

    /// Whether an object is a copy.
    pub fn is_one(&self, object: &Loaded) -> bool {
        let definitions = object.definitions();
        definitions.is_some_and(|definitions| self.anchors.iter().all(|&anchor| definitions.find(anchor).is_some()))
    }

    /// The number of a hook.
    pub fn hook(&self, name: Name) -> Option<usize> {
        self.hooks().iter().position(|hook| hook.name.hash() == name.hash() && hook.name.text() == name.text())
    }

    /// Whether a copy calls one of its own hooked functions where the call is seen.
    pub fn sees_own_call(&self, copy: &Copy, name: Name) -> bool {
        self.hook(name).is_some_and(|hook| copy.has_noted_own_call(hook))
    }

    /// Whether copies of this family may be called unseen: by an object whose slots could not be written.
    pub fn is_hidden(&self) -> bool {
        self.hidden.load(Ordering::Acquire)
    }

    /// Notes that calls may go unseen from now on. Returns whether this is new.
    pub(crate) fn hide(&self) -> bool {
        !self.hidden.swap(true, Ordering::AcqRel)
    }

    /// Notes a copy. Returns whether it was not known before.
    pub(crate) fn meet(&self, object: &Loaded) -> bool {
        if let Some((_, copy)) = self.copies().find(|(_, copy)| copy.was(object)) {
            // It may have been closed and opened again since, and its path is another string then.
            copy.note_path(object);
            return false;
        }
        // A copy's trampolines are kept for the same file at the same address.
        let returned = self.copies.iter().find(|copy| copy.is_gone() && copy.was(object));
        let free = || self.copies.iter().find(|copy| copy.is_free());
        let Some(copy) = returned.or_else(free) else {
            // One too many: its functions belong to no copy, and its callers are left alone.
            return self.hide();
        };
        copy.arrive(object, self.is_resident);
        true
    }

    /// Forgets the copies for which `is_there` is false.
    pub(crate) fn forget(&self, is_there: impl Fn(&Loaded) -> bool) {
        for (_, copy) in self.copies() {
            if !copy.object().is_some_and(&is_there) {
                copy.leave();
            }
        }
    }
}

/// Makes the [`Hook`]s of a [`Family`]: a trampoline for each function *of each copy*. A trampoline passes the call on
/// to the handler, with one more argument: the copy that it was meant for.
#[macro_export]
macro_rules! hooks {
    (
        $(#[$meta:meta])*
        $hooks:ident;
        $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? => $handler:path;)*
    ) => {
        $(#[$meta])*
        pub const $hooks: &[$crate::family::Hook] = &[$(
            $crate::family::Hook {
                name: $crate::definitions::Name::new($crate::name!($name)),
                trampoline: {
                    #[allow(clippy::too_many_arguments)] // as many as the foreign function has
                    extern "C-unwind" fn trampoline<const NUMBER: usize>($($argument: $type),*) $(-> $result)? {
                        $handler($($argument,)* const { $crate::family::Caller::of_trampoline(NUMBER) })
                    }
                    |number| match number {
                        0 => trampoline::<0> as *const () as usize,
                        1 => trampoline::<1> as *const () as usize,
                        2 => trampoline::<2> as *const () as usize,
                        3 => trampoline::<3> as *const () as usize,
                        4 => trampoline::<4> as *const () as usize,
                        5 => trampoline::<5> as *const () as usize,
                        6 => trampoline::<6> as *const () as usize,
                        7 => trampoline::<7> as *const () as usize,
                        8 => trampoline::<8> as *const () as usize,
                        9 => trampoline::<9> as *const () as usize,
                        10 => trampoline::<10> as *const () as usize,
                        11 => trampoline::<11> as *const () as usize,
                        12 => trampoline::<12> as *const () as usize,
                        13 => trampoline::<13> as *const () as usize,
                        14 => trampoline::<14> as *const () as usize,
                        15 => trampoline::<15> as *const () as usize,
                        16 => trampoline::<16> as *const () as usize,
                        17 => trampoline::<17> as *const () as usize,
                        18 => trampoline::<18> as *const () as usize,
                        19 => trampoline::<19> as *const () as usize,
                        20 => trampoline::<20> as *const () as usize,
                        21 => trampoline::<21> as *const () as usize,
                        22 => trampoline::<22> as *const () as usize,
                        _ => trampoline::<23> as *const () as usize,
                    }
                },
            }
        ),*];
    };
}

/// The name of a function as a C string.
#[macro_export]
macro_rules! name {
    ($name:ident) => {
        const {
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a function name holds no NUL"),
            }
        }
    };
}

/// An adapter's state for each copy, created at the first call of the copy.
pub struct Libraries<L: 'static> {
    family: &'static Family,
    known: [AtomicPtr<L>; COPIES],
    opening: ForkLock,
}

impl<L: Send + Sync> Libraries<L> {
    /// Without any state yet.
    pub const fn new(family: &'static Family) -> Self {
        Libraries { family, known: [const { AtomicPtr::new(ptr::null_mut()) }; COPIES], opening: ForkLock::new() }
    }

    /// The state of the copy that a call is meant for. `open` creates it, once; it may call the library and the linker.
    pub fn of(&self, caller: Caller, open: impl FnOnce(&'static Copy) -> Option<L>) -> Option<&'static L> {
        if let Some(known) = self.known_of(caller) {
            return Some(known);
        }
        // Created before the lock is taken: this may need the dynamic linker's lock, whose holder may be waiting for
        // ours.
        let fresh = Box::new(open(self.family.copy(caller.copy()))?);
        let _guard = self.opening.lock();
        let place = &self.known[caller.copy() % COPIES];
        if place.load(Ordering::Acquire).is_null() {
            place.store(Box::into_raw(fresh), Ordering::Release);
        }
        self.known_of(caller)
    }

    /// The same, if it was already created.
    pub fn known_of(&self, caller: Caller) -> Option<&'static L> {
        // SAFETY: only pointers from Box::into_raw are stored, and none is ever freed.
        unsafe { self.known[caller.copy() % COPIES].load(Ordering::Acquire).as_ref() }
    }

    /// The state of every copy that calls were meant for so far.
    pub fn known(&self) -> impl Iterator<Item = &'static L> {
        // SAFETY: as in `known_of`.
        self.known.iter().filter_map(|place| unsafe { place.load(Ordering::Acquire).as_ref() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_a_copy_and_an_origin() {
        for copy in 0..COPIES {
            for origin in [Origin::Program, Origin::Itself, Origin::Companion] {
                let caller = Caller::new(copy, origin);
                assert_eq!(caller.copy(), copy);
                assert_eq!(
                    (caller.is_own(), caller.is_companion()),
                    (origin == Origin::Itself, origin == Origin::Companion)
                );
                assert_eq!(Caller::of_trampoline(caller.number()), caller);
                assert!(caller.number() < TRAMPOLINES);
            }
        }
    }
}
