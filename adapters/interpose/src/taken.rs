//! Addresses of a TLS library's functions that were taken before this library was attached to a running program. Calls
//! by them come past no slot. An object has them from `dlsym`, or from what calls it for others, so from a function
//! that it imports; or from a slot of its own that is not for calls alone, which it may have copied.

use std::ffi::CStr;
use std::ops::ControlFlow;

use crate::definitions::Name;
use crate::elf::Loaded;
use crate::imports::Imports;
use crate::wanted::Wanted;
use crate::way_in::WayIn;
use crate::{linker, slots};

/// Who may have taken addresses, as a set: nobody, Python's ctypes as a module of its own, anybody else.
pub(crate) const NOBODY: u8 = 0;
pub(crate) const CTYPES: u8 = 1;
pub(crate) const OTHERS: u8 = 2;

/// Libraries that only look for functions of the C library, or for the entry points of their own plugins, by names that
/// no TLS library has: the beginnings of their sonames.
const HARMLESS: [&str; 7] = [
    "libicuuc.",      // common/uplug.cpp
    "libkrb5support", // util/support/plugins.c
    "libncurses",     // base/lib_mouse.c: libgpm
    "libnss_systemd", // basic/dlfcn-util.c
    "libp11-kit",     // p11-kit/modules.c
    "libsasl2",       // lib/dlopen.c
    "libxml2.",       // xmlmodule.c: for the extension modules of libxslt
];
/// Interpreters that do the same, each known by a function that it defines: CPython (Python/dynload_shlib.c) and Ruby
/// (dln.c). A program that has one linked in, and calls a TLS library itself, is no such interpreter.
const INTERPRETERS: [Name; 2] = [Name::new(c"Py_BytesMain"), Name::new(c"ruby_setup")];
/// As these: uWSGI (core/plugins.c) and its plugin for Python, our gem, and our C library.
const OTHER_PROGRAMS: [Name; 4] = [
    Name::new(c"uwsgi_setup"),
    Name::new(c"init_uwsgi_embedded_module"),
    Name::new(c"windlass_ruby"),
    Name::new(c"windlass_attach_early"),
];
/// It finds whatever a script asks for.
const OF_CTYPES: Name = Name::new(c"PyInit__ctypes");

/// Who, of the set above, may have taken addresses in an object, given what it imports.
pub(crate) fn by(way: &WayIn, object: &Loaded, imports: &Imports) -> u8 {
    if way.sibling.contains(object.dynamic as usize) || slots::is_copy(way, object) {
        return NOBODY;
    }
    if may_have_copied(object, imports) {
        return OTHERS;
    }
    if imports.fits && !imports.finds {
        return NOBODY;
    }
    let is_harmless = |soname: &CStr| HARMLESS.iter().any(|start| soname.to_bytes().starts_with(start.as_bytes()));
    if object.soname().is_some_and(is_harmless) {
        return NOBODY;
    }
    let defines = |name: &Name| object.definitions().is_some_and(|definitions| definitions.find(*name).is_some());
    let is_interpreter = INTERPRETERS.iter().any(defines);
    if defines(&OF_CTYPES) {
        return if is_interpreter { OTHERS } else { CTYPES };
    }
    let calls_it = || object.is_executable() && imports.all().any(is_hook);
    let is_known = is_interpreter && !calls_it() || OTHER_PROGRAMS.iter().any(defines);
    if is_known { NOBODY } else { OTHERS }
}

/// Whether a slot of a hooked function is for more than calls: the program uses the address as a value. (With -fno-plt
/// calls use such slots, too.)
fn may_have_copied(object: &Loaded, imports: &Imports) -> bool {
    let mut found = false;
    if imports.all().any(is_hook) {
        object.slots(&imports.filter, |slot| {
            found = !slot.is_for_calls() && imports.find(slot.symbol).is_some_and(is_hook);
            !found
        });
    }
    found
}

fn is_hook(wanted: Wanted) -> bool {
    matches!(wanted, Wanted::Hook(..))
}

/// Visits the loaded objects of these takers, until `visit` breaks.
pub(crate) fn each(way: &WayIn, takers: u8, mut visit: impl FnMut(&Loaded) -> ControlFlow<()>) {
    let mut imports = Imports::NONE;
    linker::each_object(0, |object| {
        imports.fill(way, object);
        by(way, object, &imports) & takers == NOBODY || visit(object).is_continue()
    });
}
