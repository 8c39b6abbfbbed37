//! Which copy of a library a slot leads to, or would lead to when the linker binds it at the first call.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::definitions::Name;
use crate::elf::{Dyn, FILTER, Loaded};
use crate::family::{Copy, Family};
use crate::way_in::WayIn;
use crate::{dlsym, linker};

/// Where a slot leads.
pub enum Bound {
    /// To a copy: its number, itself, and the very function.
    To(usize, &'static Copy, usize),
    /// Nobody defines the function.
    Nowhere,
    /// To something else, or it can't be told.
    Elsewhere,
}

/// Where the slot with this value leads.
pub fn copy_of(
    way: &WayIn,
    family: &'static Family,
    hook: usize,
    object: &Loaded,
    symbol: usize,
    value: usize,
) -> Bound {
    let name = family.hooks[hook].name;
    for (number, copy) in family.copies() {
        if copy.contains(value) && copy.find(name) == Some(value) {
            return Bound::To(number, copy, value);
        }
    }
    if object.contains(value) {
        let own = object.definitions().and_then(|definitions| definitions.find(name));
        // Its own definition, and it is no copy: an interposer, or a program with a library linked in.
        if own == Some(value) {
            return Bound::Elsewhere;
        }
        return match unbound(way, family, hook, object, symbol) {
            Bound::Elsewhere => interposed(family, name, object, symbol, None),
            bound => bound,
        };
    }
    interposed(family, name, object, symbol, Some(value))
}

/// Another interposer has the function. A library that stands in front of all others passes calls on to that, if it is clear whose function it is.
fn interposed(family: &'static Family, name: Name, object: &Loaded, symbol: usize, value: Option<usize>) -> Bound {
    if family.onward().is_none() {
        return Bound::Elsewhere;
    }
    // What has no versions at all is taken for any version (elf/dl-lookup.c), but not by dlvsym.
    let found = value.unwrap_or_else(|| in_global_scope(name.text(), None) as usize);
    let version = object.version_of(symbol).filter(|_| value.is_none());
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

/// A slot that is not bound yet leads to its own PLT entry. What the linker is going to find: elf/dl-lookup.c.
fn unbound(way: &WayIn, family: &'static Family, hook: usize, object: &Loaded, symbol: usize) -> Bound {
    if way.has_other_definition(family, hook) {
        return Bound::Elsewhere;
    }
    let name = family.hooks[hook].name;
    let version = object.version_of(symbol);
    let fits = |copy: &Copy| {
        copy.find(name).is_some()
            && version.is_none_or(|version| copy.object().is_some_and(|object| object.may_define_version(version)))
    };
    let mut fitting = family.copies().filter(|(_, copy)| fits(copy));
    match (fitting.next(), fitting.next()) {
        (None, _) => Bound::Nowhere,
        (Some(one), None) => to(name, one),
        _ => by_scope(family, object, name, version, fits),
    }
}

fn to(name: Name, (number, copy): (usize, &'static Copy)) -> Bound {
    copy.find(name).map_or(Bound::Elsewhere, |address| Bound::To(number, copy, address))
}

/// Several copies define the function. The global scope comes first, then what the object was linked against; with RTLD_DEEPBIND the other way
/// round. Where both have one, slots that are bound tell which it was.
fn by_scope(
    family: &'static Family,
    object: &Loaded,
    name: Name,
    version: Option<&CStr>,
    fits: impl Fn(&Copy) -> bool,
) -> Bound {
    let of_address = |address: usize| family.copies().find(|(_, copy)| copy.contains(address));
    let global = of_address(in_global_scope(name.text(), version) as usize);
    let own = in_dependencies(family, object, &fits);
    match (global, own) {
        (Some(one), None) | (None, Some(one)) => to(name, one),
        (Some(one), Some((other, _))) if one.0 == other => to(name, one),
        // What the program was started with was not opened with that flag.
        (Some(one), Some(_)) if is_of_program(object) => to(name, one),
        (Some(one), Some(other)) => {
            let mut known = None;
            object.slots(&[1; FILTER], |slot, _| {
                // SAFETY: a slot of a relocated object.
                known = of_address(unsafe { *slot }).filter(|(number, _)| [one.0, other.0].contains(number));
                known.is_none()
            });
            known.map_or(Bound::Elsewhere, |one| to(name, one))
        }
        (None, None) => Bound::Elsewhere,
    }
}

fn in_global_scope(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    // SAFETY: searches by NUL-terminated names. This library itself defines none of them.
    let found = unsafe {
        match version {
            Some(version) => dlsym::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()),
            None => dlsym::dlsym(libc::RTLD_DEFAULT, name.as_ptr()),
        }
    };
    if found.is_null() {
        dlsym::forget_error();
    }
    found
}

/// The first copy among what an object was linked against, breadth first as the linker searches.
fn in_dependencies(
    family: &'static Family,
    object: &Loaded,
    fits: &impl Fn(&Copy) -> bool,
) -> Option<(usize, &'static Copy)> {
    among_dependencies(object.dynamic, |one| {
        let is_it = |(_, copy): &(usize, &'static Copy)| {
            copy.object().is_some_and(|known| known.dynamic == one.dynamic) && fits(copy)
        };
        family.copies().find(is_it)
    })
}

/// Whether the program was started with an object.
fn is_of_program(object: &Loaded) -> bool {
    let mut program = ptr::null();
    linker::each_object(0, |first| {
        program = first.dynamic;
        false
    });
    among_dependencies(program, |one| (one.dynamic == object.dynamic).then_some(())).is_some()
}

/// What `visit` finds in an object and what it was linked against, breadth first.
fn among_dependencies<R>(object: *const Dyn, visit: impl Fn(&Loaded) -> Option<R>) -> Option<R> {
    const MOST: usize = 64;
    let mut queue = [ptr::null(); MOST];
    let (mut at, mut end) = (0, 1);
    queue[0] = object;
    while at < end {
        let mut found = None;
        linker::each_object(0, |one| {
            if one.dynamic != queue[at] {
                return true;
            }
            found = visit(one);
            for needed in one.needed() {
                linker::each_object(0, |other| {
                    let is_it = is_named(other, needed);
                    if is_it && end < MOST && !queue[..end].contains(&other.dynamic) {
                        queue[end] = other.dynamic;
                        end += 1;
                    }
                    !is_it
                });
            }
            false
        });
        if found.is_some() {
            return found;
        }
        at += 1;
    }
    None
}

/// Whether an object is what a `DT_NEEDED` names.
fn is_named(object: &Loaded, needed: &CStr) -> bool {
    if object.soname().is_some_and(|name| name == needed) {
        return true;
    }
    if object.path.is_null() {
        return false;
    }
    // SAFETY: the path of a loaded object.
    let path = unsafe { CStr::from_ptr(object.path) }.to_bytes();
    path == needed.to_bytes() || path.rsplit(|byte| *byte == b'/').next() == Some(needed.to_bytes())
}

/// Whether an address lies in an executable that is not position-independent. The executable comes first among the objects.
pub fn is_plt_entry(address: usize) -> bool {
    static START: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    if END.load(Ordering::Acquire) == 0 {
        linker::each_object(0, |object| {
            let is_it = object.is_executable() && object.base == 0;
            START.store(if is_it { object.start } else { usize::MAX }, Ordering::Relaxed);
            END.store(object.end, Ordering::Release);
            false
        });
    }
    (START.load(Ordering::Relaxed)..END.load(Ordering::Acquire)).contains(&address)
}
