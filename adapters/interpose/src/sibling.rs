//! Another of our libraries in the same process: the tracing library stands in front of the preload library, whichever
//! is loaded first.
//!
//! The one in front puts its trampolines into the slots, and calls go on through variables of its own ([`Onward`]). To
//! the one behind, these variables are slots like any others.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::definitions::{Definitions, Name};
use crate::elf::Loaded;
use crate::family::{COPIES, Caller, Origin};

/// The other library, recognised by a function that it exports.
pub struct Sibling {
    name: Name<'static>,
    is_behind: bool,
    function: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Sibling {
    /// A library that stands behind us. The function returns the definition that one of its trampolines leads to.
    pub const fn behind(function: &'static CStr) -> Sibling {
        Sibling::new(function, true)
    }

    /// A library that stands in front of us. The function returns the variable through which the calls of one of its
    /// trampolines go on.
    pub const fn in_front(function: &'static CStr) -> Sibling {
        Sibling::new(function, false)
    }

    const fn new(name: &'static CStr, is_behind: bool) -> Sibling {
        let [function, start, end] = [const { AtomicUsize::new(0) }; 3];
        Sibling { name: Name::new(name), is_behind, function, start, end }
    }

    /// Notes the object, if it is that library. It is never unloaded (`-z nodelete`).
    pub(crate) fn meet(&self, object: &Loaded, definitions: &Definitions) {
        if let Some(function) = definitions.find(self.name) {
            self.start.store(object.start, Ordering::Relaxed);
            self.end.store(object.end, Ordering::Relaxed);
            self.function.store(function, Ordering::Release);
        }
    }

    /// Whether that library contains an address.
    pub(crate) fn contains(&self, address: usize) -> bool {
        let is_there = self.function.load(Ordering::Acquire) != 0;
        is_there && (self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)).contains(&address)
    }

    /// The definition that an address leads to, if it is a trampoline of the library behind us.
    pub(crate) fn definition(&self, address: usize) -> Option<usize> {
        if self.is_behind { self.ask(address) } else { None }
    }

    /// The variable through which calls go on, if an address is a trampoline in front of us.
    pub(crate) fn variable(&self, address: usize) -> Option<*mut usize> {
        if self.is_behind { None } else { self.ask(address).map(|variable| variable as *mut usize) }
    }

    fn ask(&self, trampoline: usize) -> Option<usize> {
        if !self.contains(trampoline) {
            return None;
        }
        let function = self.function.load(Ordering::Acquire);
        // SAFETY: a function of this name is ours, and has this type (`attach.rs` of either library).
        let function = unsafe { std::mem::transmute::<usize, Ask>(function) };
        Some(function(trampoline as *const c_void) as usize).filter(|found| *found != 0)
    }
}

type Ask = extern "C" fn(*const c_void) -> *const c_void;

/// The targets of the calls of each copy of a family: 0 for the copy's own definition, else the function that stands
/// between us and it.
pub struct Onward([[AtomicUsize; Origin::COUNT * HOOKS]; COPIES]);

/// The most hooks that a family can have.
pub const HOOKS: usize = 128;

impl Onward {
    /// Calls go on to the copies' own definitions.
    pub const fn new() -> Onward {
        Onward([const { [const { AtomicUsize::new(0) }; Origin::COUNT * HOOKS] }; COPIES])
    }

    /// The variable for calls of one function.
    pub fn variable(&self, caller: Caller, hook: usize) -> &AtomicUsize {
        &self.0[caller.copy() % COPIES][hook % HOOKS * Origin::COUNT + caller.number() % Origin::COUNT]
    }

    /// Whether calls that are to reach `target` can go on through this variable: all calls through it reach the same
    /// target. `leads_to` returns the definition that another address leads to.
    pub(crate) fn claim(
        &self,
        caller: Caller,
        hook: usize,
        target: usize,
        leads_to: impl Fn(usize) -> Option<usize>,
    ) -> bool {
        let variable = self.variable(caller, hook);
        loop {
            let known = variable.load(Ordering::Acquire);
            if known == target || leads_to(known) == Some(target) {
                return true;
            }
            if known != 0 && leads_to(target) != Some(known) {
                return false;
            }
            if variable.compare_exchange(known, target, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_leads_to_one_definition() {
        // 100 and 200 are definitions, 101 is a trampoline in front of 100, and 900 is unknown.
        let leads_to = |address| (address == 101).then_some(100);
        let caller = Caller::new(3, Origin::Itself);
        for (claims, last) in [
            (&[(100, true), (101, true), (100, true), (200, false), (900, false)][..], 101),
            (&[(101, true), (100, true), (200, false)], 101),
            (&[(900, true), (100, false), (101, false), (900, true)], 900),
            (&[(200, true), (101, false)], 200),
        ] {
            let onward = Onward::new();
            for &(target, fits) in claims {
                assert_eq!(onward.claim(caller, 7, target, leads_to), fits, "{target} of {claims:?}");
            }
            assert_eq!(onward.variable(caller, 7).load(Ordering::Relaxed), last);
            assert_eq!(onward.variable(Caller::new(3, Origin::Program), 7).load(Ordering::Relaxed), 0);
        }
    }
}
