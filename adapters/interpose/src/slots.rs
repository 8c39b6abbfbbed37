//! The import slots of one object: those that matter, the target of each, and writing them.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::elf::{Loaded, Slot};
use crate::family::{Caller, Family, Origin};
use crate::imports::{Imports, MOST};
use crate::scope::Scope;
use crate::wanted::Wanted;
use crate::way_in::WayIn;
use crate::{bound, dlsym, linker};

/// The outcome for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All its slots that matter are written, or it has none.
    Done,
    /// As `Done`, but the linker had not bound some of them yet.
    DoneEarly,
    /// The linker has not bound all of them yet.
    Unready,
    /// One of them leads to something unknown, or can't be written: all were left as they were.
    Refused,
}

/// The decision about a slot.
enum Decision {
    Leave,
    /// Write the address of the trampoline into this variable: the slot itself, or one of a library in front of us.
    Write(*mut usize, usize),
    Unready,
    Refuse,
}

/// Writes all slots of an object that matter, or none.
pub fn write(way: &WayIn, object: &Loaded, page: usize, room: &mut Scratch) -> Outcome {
    // A table of functions that the executable has copied from a library before anything could be written there.
    if object.copied().any(|(start, size)| leads_into_copies(way, start, size)) {
        return Outcome::Refused;
    }
    let Scratch { imports, writes, scope } = room;
    if !imports.fill(way, object) {
        return Outcome::Done;
    }
    if !imports.fits {
        return Outcome::Refused;
    }
    if !object.is_relocated() {
        return Outcome::Unready;
    }
    let outside = if is_copy(way, object) { Origin::Companion } else { Origin::Program };
    let (mut outcome, mut locked, mut early) = (Outcome::Done, Pages::NONE, false);
    writes.count = 0;
    object.slots(&imports.filter, |slot| {
        let Some(wanted) = imports.find(slot.symbol) else { return true };
        match decide(way, object, outside, slot, wanted, scope) {
            Decision::Leave => {}
            // Code that is itself relocated (DT_TEXTREL) can't be written any more.
            Decision::Write(at, _) if at == slot.at && !object.is_writable(at) => outcome = Outcome::Refused,
            Decision::Write(at, address) => {
                early |= object.is_unbound(slot, cell(slot.at).load(Ordering::Relaxed));
                if object.is_read_only(at as usize, page) {
                    locked.add(at as usize, page);
                }
                if !writes.add(at, address, wanted) {
                    outcome = Outcome::Refused;
                }
            }
            Decision::Unready => outcome = Outcome::Unready,
            Decision::Refuse => outcome = Outcome::Refused,
        }
        outcome == Outcome::Done
    });
    if outcome != Outcome::Done || writes.count == 0 {
        return outcome;
    }
    if !locked.protect(libc::PROT_READ | libc::PROT_WRITE) {
        return Outcome::Refused;
    }
    for &(slot, address, wanted) in &writes.all[..writes.count] {
        cell(slot).store(address, Ordering::Release);
        note_own_call(way, object, wanted);
    }
    if !locked.protect(libc::PROT_READ) {
        return Outcome::Refused;
    }
    if early { Outcome::DoneEarly } else { Outcome::Done }
}

/// Whether a variable holds the address of a hooked function.
fn leads_into_copies(way: &WayIn, start: usize, size: usize) -> bool {
    let is_hooked = |value: usize| {
        way.families.iter().any(|family| {
            let mut copies = family.copies().filter(|(_, copy)| copy.contains(value));
            copies.any(|(_, copy)| family.hooks().iter().any(|hook| copy.find(hook.name) == Some(value)))
        })
    };
    // SAFETY: a variable of the executable, which is loaded and relocated.
    (0..size / size_of::<usize>()).any(|at| is_hooked(unsafe { (start as *const usize).add(at).read_unaligned() }))
}

/// Working memory for a look through the objects.
pub struct Scratch {
    imports: Imports,
    writes: Writes,
    scope: Scope,
}

impl Scratch {
    /// Empty working memory.
    pub const fn new() -> Scratch {
        Scratch { imports: Imports::NONE, writes: Writes::new(), scope: Scope::new() }
    }

    /// Forgets the previous look: another object may by now be at the same address.
    pub fn forget(&mut self) {
        self.scope.forget();
    }

    /// The imports of the object whose slots were written last.
    pub(crate) fn imports(&self) -> &Imports {
        &self.imports
    }
}

/// The pending writes, done once it is certain that all are possible.
struct Writes {
    all: [(*mut usize, usize, Wanted); MOST],
    count: usize,
}

impl Writes {
    const fn new() -> Writes {
        Writes { all: [(std::ptr::null_mut(), 0, Wanted::Dlsym); MOST], count: 0 }
    }

    /// Adds a write. False if there are too many.
    fn add(&mut self, slot: *mut usize, address: usize, wanted: Wanted) -> bool {
        let Some(place) = self.all.get_mut(self.count) else { return false };
        *place = (slot, address, wanted);
        self.count += 1;
        true
    }
}

/// Restores the slots of an object to the functions they were bound to.
pub fn restore(way: &WayIn, object: &Loaded, page: usize) {
    let Some(imports) = Imports::of(way, object) else { return };
    let mut locked = Pages::NONE;
    let each = |act: &mut dyn FnMut(*mut usize, usize)| {
        object.slots(&imports.filter, |slot| {
            let (slot, symbol) = (slot.at, slot.symbol);
            let variable = way.sibling.variable(cell(slot).load(Ordering::Relaxed));
            let slot = variable.unwrap_or(slot);
            if imports.find(symbol).is_some()
                && let Some(original) = definition_of(way, cell(slot).load(Ordering::Relaxed))
            {
                act(slot, original);
            }
            true
        });
    };
    each(&mut |slot, _| {
        if object.is_read_only(slot as usize, page) {
            locked.add(slot as usize, page);
        }
    });
    if locked.protect(libc::PROT_READ | libc::PROT_WRITE) {
        each(&mut |slot, original| cell(slot).store(original, Ordering::Release));
        locked.protect(libc::PROT_READ);
    }
}

/// The families that a refused object may call, as bits.
pub fn imported_families(way: &WayIn, object: &Loaded) -> u32 {
    let has_copies = object.copied().any(|(start, size)| leads_into_copies(way, start, size));
    let imports = Imports::of(way, object);
    if has_copies || imports.as_ref().is_some_and(|imports| !imports.fits) {
        return u32::MAX;
    }
    let Some(imports) = imports else { return 0 };
    imports.all().fold(0, |families, wanted| match wanted {
        Wanted::Hook(family, _) => families | 1 << family,
        // It can find any function.
        Wanted::Dlsym | Wanted::Dlvsym => u32::MAX,
        Wanted::Noticed(_) | Wanted::Finder => families,
    })
}

/// Whether an object imports hooked functions.
pub fn imports_hooks(way: &WayIn, object: &Loaded) -> bool {
    let is_hook = |wanted: Wanted| matches!(wanted, Wanted::Hook(..));
    Imports::of(way, object).is_some_and(|imports| !imports.fits || imports.all().any(is_hook))
}

/// The definition that a trampoline leads to.
pub fn definition_of(way: &WayIn, trampoline: usize) -> Option<usize> {
    if let Some(original) = dlsym::definition_of(trampoline) {
        return Some(original);
    }
    let (family, caller, hook) = hook_of(way, trampoline)?;
    family.copy(caller.copy()).find(family.hooks()[hook].name)
}

/// The hook that a trampoline belongs to.
pub(crate) fn hook_of(way: &WayIn, trampoline: usize) -> Option<(&'static Family, Caller, usize)> {
    for &family in way.families {
        for (number, _) in family.copies() {
            for (at, hook) in family.hooks().iter().enumerate() {
                for origin in [Origin::Program, Origin::Itself, Origin::Companion] {
                    let caller = Caller::new(number, origin);
                    if (hook.trampoline)(caller.number()) == trampoline {
                        return Some((family, caller, at));
                    }
                }
            }
        }
    }
    None
}

fn decide(way: &WayIn, object: &Loaded, outside: Origin, slot: &Slot, wanted: Wanted, scope: &mut Scope) -> Decision {
    let (place, mut value) = (slot.at as usize, cell(slot.at).load(Ordering::Relaxed));
    let variable = way.sibling.variable(value);
    let at = variable.unwrap_or(slot.at);
    if variable.is_some() {
        value = cell(at).load(Ordering::Acquire);
    }
    // A weak reference that nobody defines, or a variable that the program has set; all others are written when the
    // object is relocated.
    if value == 0 {
        let is_settled = slot.is_variable() || !object.is_required(slot.symbol);
        return if is_settled { Decision::Leave } else { Decision::Unready };
    }
    if is_ours(value) {
        return Decision::Leave;
    }
    // Unchanged from the file: not relocated.
    if object.base != 0 && value < object.end - object.start && !slot.is_variable() {
        return Decision::Unready;
    }
    if !(at as usize).is_multiple_of(align_of::<usize>()) || object.is_per_thread(place) {
        return Decision::Refuse;
    }
    if !object.is_unbound(slot, value) && linker::is_stand_in(way.name(wanted), value) {
        return Decision::Leave;
    }
    match wanted {
        Wanted::Noticed(_) | Wanted::Finder => Decision::Leave,
        Wanted::Dlsym | Wanted::Dlvsym => match dlsym::trampoline_for(way, object, slot, value, wanted) {
            Some(trampoline) => Decision::Write(at, trampoline),
            None if slot.is_variable() && object.contains(value) => Decision::Leave,
            None => Decision::Refuse,
        },
        Wanted::Hook(family, hook) => {
            let (family, hook) = (way.families[usize::from(family)], usize::from(hook));
            let behind = way.sibling.definition(value);
            match bound::copy_of(family, hook, object, slot, behind.unwrap_or(value), scope) {
                bound::Bound::To(number, copy, function) => {
                    let origin = if copy.contains(place) { Origin::Itself } else { outside };
                    let caller = Caller::new(number, origin);
                    let target = behind.map_or(function, |_| value);
                    if !family.claim(&way.sibling, caller, hook, target) {
                        return Decision::Refuse;
                    }
                    if object.is_unbound(slot, value) {
                        copy.want_pinned();
                    }
                    Decision::Write(at, (family.hooks()[hook].trampoline)(caller.number()))
                }
                bound::Bound::Nowhere | bound::Bound::Overwritten => Decision::Leave,
                bound::Bound::Elsewhere => Decision::Refuse,
            }
        }
    }
}

/// Whether an object is a copy of some family: its calls to other families are a companion's.
pub(crate) fn is_copy(way: &WayIn, object: &Loaded) -> bool {
    let mut copies = way.families.iter().flat_map(|family| family.copies());
    copies.any(|(_, copy)| copy.object().is_some_and(|known| known.dynamic == object.dynamic))
}

/// The number of the copy of a family that an object's slots lead to; `None` if none of them does.
pub fn leads_to(way: &WayIn, object: &Loaded, family: &Family) -> Option<usize> {
    let imports = Imports::of(way, object)?;
    let mut found = None;
    object.slots(&imports.filter, |slot| {
        if matches!(imports.find(slot.symbol), Some(Wanted::Hook(..))) {
            let value = cell(slot.at).load(Ordering::Relaxed);
            let definition = definition_of(way, value).unwrap_or(value);
            found = family.copies().find(|(_, copy)| copy.contains(definition)).map(|(number, _)| number);
        }
        found.is_none()
    });
    found
}

fn note_own_call(way: &WayIn, object: &Loaded, wanted: Wanted) {
    let Wanted::Hook(family, hook) = wanted else { return };
    for (_, copy) in way.families[usize::from(family)].copies() {
        if copy.object().is_some_and(|own| own.dynamic == object.dynamic) {
            copy.note_own_call(usize::from(hook));
        }
    }
}

/// Whether this library contains an address.
fn is_ours(address: usize) -> bool {
    linker::own_range().contains(&address)
}

fn cell(slot: *mut usize) -> &'static AtomicUsize {
    // SAFETY: an aligned word of a loaded object that its relocations name. The linker also writes it with one store.
    unsafe { AtomicUsize::from_ptr(slot) }
}

/// Pages that are made writable.
struct Pages {
    start: usize,
    end: usize,
}

impl Pages {
    const NONE: Pages = Pages { start: usize::MAX, end: 0 };

    fn add(&mut self, slot: usize, page: usize) {
        self.start = self.start.min(slot & !(page - 1));
        self.end = self.end.max((slot & !(page - 1)) + page);
    }

    fn protect(&self, access: i32) -> bool {
        if self.end == 0 {
            return true;
        }
        let errno = crate::hook::KeptErrno::new();
        // SAFETY: whole pages of a loaded object, all between two slots in its read-only part. The linker has relocated
        // the object and protected them before, and nobody else changes them.
        let done = unsafe { libc::mprotect(self.start as *mut _, self.end - self.start, access) } == 0;
        drop(errno);
        done
    }
}
