//! Addresses of a TLS library's functions that were taken before this library was attached to a running program. Calls
//! by them come past no slot. Only `dlsym` and `dlvsym` give them away, so the objects that import these are the ones
//! that may have some.

use std::ffi::CStr;
use std::ops::ControlFlow;

use crate::definitions::Name;
use crate::elf::Loaded;
use crate::imports::Imports;
use crate::wanted::Wanted;
use crate::way_in::WayIn;
use crate::{linker, slots};

/// Libraries that only look for the entry points of their own plugins, by names that no TLS library has: the beginnings
/// of their sonames.
const HARMLESS: [&str; 6] = [
    "libicuuc.so.",       // common/uplug.cpp
    "libkrb5support.so.", // util/support/plugins.c
    "libnss_systemd.so.", // basic/dlfcn-util.c
    "libp11-kit.so.",     // p11-kit/modules.c
    "libsasl2.so.",       // lib/dlopen.c
    "libxml2.so.",        // xmlmodule.c: for the extension modules of libxslt
];
/// Programs that do the same, and their main libraries: each is known by a function that it defines. CPython
/// (Python/dynload_shlib.c), Ruby (dln.c), uWSGI (core/plugins.c) and its plugin for Python.
const PROGRAMS: [Name; 4] = [
    Name::new(c"Py_BytesMain"),
    Name::new(c"ruby_setup"),
    Name::new(c"uwsgi_setup"),
    Name::new(c"init_uwsgi_embedded_module"),
];
/// Unless they have this built in: it finds whatever a script asks for.
const CTYPES: Name = Name::new(c"PyInit__ctypes");

/// Whether an object may have taken addresses by itself, given what it imports.
pub(crate) fn may_have_taken(way: &WayIn, object: &Loaded, imports: &Imports) -> bool {
    let finds = |wanted: Wanted| matches!(wanted, Wanted::Dlsym | Wanted::Dlvsym);
    (!imports.fits || imports.all().any(finds)) && !is_harmless(way, object)
}

fn is_harmless(way: &WayIn, object: &Loaded) -> bool {
    if way.sibling.contains(object.dynamic as usize) || slots::is_copy(way, object) {
        return true;
    }
    let is_known = |soname: &CStr| HARMLESS.iter().any(|beginning| soname.to_bytes().starts_with(beginning.as_bytes()));
    object.soname().is_some_and(is_known)
        || PROGRAMS.iter().any(|name| defines(object, *name)) && !defines(object, CTYPES)
}

/// Whether an object defines a function.
pub(crate) fn defines(object: &Loaded, name: Name) -> bool {
    object.definitions().is_some_and(|definitions| definitions.find(name).is_some())
}

/// Visits the objects that may have taken addresses by themselves, until `visit` breaks.
pub(crate) fn each(way: &WayIn, mut visit: impl FnMut(&Loaded) -> ControlFlow<()>) {
    linker::each_object(0, |object| match Imports::of(way, object) {
        Some(imports) if may_have_taken(way, object, &imports) => visit(object).is_continue(),
        _ => true,
    });
}
