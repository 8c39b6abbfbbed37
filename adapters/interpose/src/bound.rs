//! Which copy of a library a slot leads to, or would lead to when the linker binds it at the first call.

use crate::definitions::Name;
use crate::elf::{Dyn, FILTER, Loaded, Slot};
use crate::family::{Copy, Family};
use crate::linker;
use crate::scope::{self, Scope};

/// The target of a slot.
pub enum Bound {
    /// A copy: its number, the copy itself, and the address of the function.
    To(usize, &'static Copy, usize),
    /// No object defines the function.
    Nowhere,
    /// The program has overwritten the slot with an address of its own, and calls whatever it likes.
    Overwritten,
    /// Something else, or unknown.
    Elsewhere,
}

/// The target of a slot with this value.
pub fn copy_of(
    family: &'static Family,
    hook: usize,
    object: &Loaded,
    slot: &Slot,
    value: usize,
    own: &mut Scope,
) -> Bound {
    let name = family.hooks()[hook].name;
    if let Some(bound) = definition(family, name, value) {
        return bound;
    }
    if object.is_unbound(slot, value) {
        return match unbound(family, name, object, slot, own) {
            Bound::Elsewhere => interposed(family, name, object, slot.symbol, None),
            bound => bound,
        };
    }
    if object.contains(value) {
        // The object's own definition, and the object is no copy: an interposer, or a program with a library linked in.
        // Anything else was put there later: by another patcher of slots, or by the program, into a variable that began
        // as the address of the function.
        let is_own = object.definitions().and_then(|definitions| definitions.find(name)) == Some(value);
        return if slot.is_variable() && !is_own { Bound::Overwritten } else { Bound::Elsewhere };
    }
    interposed(family, name, object, slot.symbol, Some(value))
}

/// The copy that itself defines the function at this address.
fn definition(family: &'static Family, name: Name, address: usize) -> Option<Bound> {
    let mut copies = family.copies().filter(|(_, copy)| copy.contains(address) && copy.find(name) == Some(address));
    copies.next().map(|(number, copy)| Bound::To(number, copy, address))
}

/// Another interposer has the function. A library that stands in front of all others passes calls on to it, if it is
/// clear which copy's function is meant.
fn interposed(family: &'static Family, name: Name, object: &Loaded, symbol: usize, value: Option<usize>) -> Bound {
    if family.onward().is_none() {
        return Bound::Elsewhere;
    }
    let version = object.version_of(symbol).filter(|_| value.is_none());
    let found = value.unwrap_or_else(|| scope::global(family, name, version));
    let mut is_interposer = false;
    linker::each_object(0, |one| {
        let is_it = one.contains(found);
        is_interposer |= is_it
            && one.definitions().and_then(|definitions| definitions.find(name)) == Some(found)
            && version.is_none_or(|version| one.may_define_version(version))
            && !family.copies().any(|(_, copy)| copy.contains(found));
        !is_it
    });
    let mut copies = family.copies().filter(|(_, copy)| copy.find(name).is_some());
    match (copies.next(), copies.next()) {
        (Some((number, copy)), None) if is_interposer => Bound::To(number, copy, found),
        _ => Bound::Elsewhere,
    }
}

/// The definition that the linker is going to find for a slot that is not bound yet. If the global scope and the
/// object's own dependencies have different ones, `RTLD_DEEPBIND` decides: slots that are already bound tell which.
fn unbound(family: &'static Family, name: Name, object: &Loaded, slot: &Slot, own: &mut Scope) -> Bound {
    let version = object.version_of(slot.symbol);
    let global = scope::global(family, name, version);
    let of_address = |address: usize| definition(family, name, address).unwrap_or(Bound::Elsewhere);
    if global != 0 && family.copies().nth(1).is_none() {
        return of_address(global);
    }
    let of_object = |dynamic: *const Dyn| {
        let mut copies =
            family.copies().filter(|(_, copy)| copy.object().is_some_and(|known| known.dynamic == dynamic));
        let defines = |copy: &Copy| copy.object().is_some_and(|object| object.defines(name, version));
        let address = |copy: &Copy| copy.find(name).filter(|_| defines(copy));
        let found = copies.next().and_then(|(number, copy)| Some(Bound::To(number, copy, address(copy)?)));
        found.unwrap_or(Bound::Elsewhere)
    };
    let Some(own) = own.find(object, name) else {
        return if global == 0 { Bound::Nowhere } else { of_address(global) };
    };
    if global == 0 {
        return of_object(own);
    }
    match (of_address(global), of_object(own)) {
        (Bound::To(one, copy, function), Bound::To(other, ..)) if one == other => Bound::To(one, copy, function),
        // An object that the program was started with was not opened with that flag.
        (bound, _) if scope::is_of_program(object) => bound,
        (bound @ Bound::To(one, ..), other_bound @ Bound::To(other, ..)) => {
            let mut known = None;
            object.slots(&[1; FILTER], |slot| {
                // SAFETY: a slot of a relocated object.
                let value = unsafe { *slot.at };
                let mut copies = family.copies().filter(|(_, copy)| copy.contains(value));
                known = copies.next().map(|(number, _)| number).filter(|number| [one, other].contains(number));
                known.is_none()
            });
            match known {
                Some(number) if number == one => bound,
                Some(_) => other_bound,
                None => Bound::Elsewhere,
            }
        }
        _ => Bound::Elsewhere,
    }
}
