//! Attaching to the program and its TLS libraries, as soon as this library is loaded, and detaching again.

use std::ffi::{c_char, c_int, c_void};
use std::panic::catch_unwind;

use windlass_interpose::elf::Loaded;
use windlass_interpose::family::{Family, Hook};
use windlass_interpose::sibling::Sibling;
use windlass_interpose::way_in::{self, WayIn};
use windlass_interpose::{linker, resolver};

use crate::gnutls::LIBGNUTLS_HOOKS;
use crate::gnutls::libgnutls::LIBGNUTLS;
use crate::hook::{KeptErrno, outside};
use crate::openssl::libcrypto::{LIBCRYPTO, LIBSSL, Methods, serve_by};
use crate::openssl::sync::is_locking;
use crate::openssl::{
    FOLLOWING_LIBCRYPTO_HOOKS, FOLLOWING_LIBSSL_HOOKS, LIBCRYPTO_HOOKS, LIBSSL_HOOKS, all_stores, default_store,
    lookup, users,
};
use crate::process::{self, Environment};

resolver!(windlass_preload_resolver);

const FAMILIES: &[&Family] = &[&LIBCRYPTO, &LIBSSL, &LIBGNUTLS];

static WAY_IN: WayIn = by(&[LIBCRYPTO_HOOKS, LIBSSL_HOOKS, LIBGNUTLS_HOOKS]);
/// With `WINDLASS_FOLLOW`.
static FOLLOWING: WayIn = by(&[FOLLOWING_LIBCRYPTO_HOOKS, FOLLOWING_LIBSSL_HOOKS, LIBGNUTLS_HOOKS]);

const fn by(hooks: &'static [&'static [Hook]]) -> WayIn {
    WayIn::new(
        FAMILIES,
        hooks,
        users::CHANGING,
        c"windlass_preload_resolver",
        Sibling::in_front(c"windlass_trace_next"),
        users::note_changer,
        all_stores::complete,
    )
}

fn way_in() -> &'static WayIn {
    if process::follows() { &FOLLOWING } else { &WAY_IN }
}

/// Runs when the library is loaded: before all other constructors if the program starts with it (`-z initfirst`). The C
/// library has not read the environment by then; glibc passes it as an argument (elf/dl-init.c).
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

extern "C" fn begin(_count: c_int, _arguments: *const *const c_char, environment: *const *const c_char) {
    let _errno = KeptErrno::new();
    let _ = catch_unwind(|| {
        // SAFETY: the environment that the program was started with.
        let environment = unsafe { Environment::new(environment) };
        if process::decide(environment) {
            serve_by(&Methods { first: lookup::method, default_store: default_store::method });
            process::prepare(environment);
            linker::watch_forks();
            way_in().attach(true);
        }
    });
}

/// Whether calls are seen.
pub fn is_attached() -> bool {
    way_in().is_attached()
}

/// Attaches again after [`windlass_preload_detach`]; loading the library attaches it the first time. Returns 1 if calls
/// are seen from now on, 0 if the library is switched off (`WINDLASS_DISABLE`, secure execution), -1 on failure.
///
/// Existing contexts stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_preload_attach() -> c_int {
    if !process::enabled() {
        return 0;
    }
    // Another thread may have been in its first call through a slot, and the linker has then written it once more.
    way_in::look_again();
    let is_attached = way_in().is_attached() || way_in().attach(false);
    process::set_leaving(!is_attached);
    if is_attached { 1 } else { -1 }
}

/// Serves the TLS libraries that were there before the library was attached, if something that may have taken addresses
/// of their functions kept them from being served ([`windlass_preload_status`](crate::status::windlass_preload_status)
/// names it). The caller states that nothing has (`anybody` is not 0), or that Python's ctypes has not. A function that
/// is called by such an address can change a store without our knowledge, and then a verification with it can end
/// otherwise than without this library. Returns 1 if they are served, 0 if others may have taken addresses, or if the
/// library is not attached.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_preload_excuse(anybody: c_int) -> c_int {
    c_int::from(way_in().excuse(anybody != 0))
}

/// Visits the objects that may have taken addresses before the library was attached, if this keeps a TLS library from
/// being served; with None if they were unloaded.
pub fn each_taker(visit: impl FnMut(Option<&Loaded>)) {
    way_in().each_taker(visit);
}

/// Detaches the library: stores get everything that was registered with them, and calls go straight to the TLS
/// libraries. Function pointers that the program got from `dlsym` meanwhile stay as they are. Returns 0, or -1 on
/// failure.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_preload_detach() -> c_int {
    if !way_in().is_attached() {
        return 0;
    }
    if is_locking() || linker::is_out_of_reach() {
        return -1;
    }
    // A call that the program makes from within a libcrypto callback counts as any other call.
    let _outside = outside();
    process::set_leaving(true);
    all_stores::part();
    let is_detached = way_in().detach();
    process::set_leaving(is_detached);
    // Certificates handed out by calls that were already under way.
    all_stores::part();
    if is_detached { 0 } else { -1 }
}

/// For the tracing library, which hooks in front of this one and may find a trampoline in an import slot: returns the
/// function that the trampoline leads to, or null.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_preload_bound_to(trampoline: *const c_void) -> *const c_void {
    way_in::bound_to(trampoline)
}
