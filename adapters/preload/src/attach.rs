//! When this library comes between a program and its TLS libraries: as soon as it is loaded.

use std::ffi::{c_char, c_int, c_void};
use std::panic::catch_unwind;

use windlass_interpose::sibling::Sibling;
use windlass_interpose::way_in::{self, WayIn};
use windlass_interpose::{linker, resolver};

use crate::gnutls::LIBGNUTLS_HOOKS;
use crate::gnutls::libgnutls::LIBGNUTLS;
use crate::hook::{KeptErrno, outside};
use crate::openssl::libcrypto::{LIBCRYPTO, LIBSSL, Methods, serve_by};
use crate::openssl::sync::is_locking;
use crate::openssl::{LIBCRYPTO_HOOKS, LIBSSL_HOOKS, all_stores, default_store, lookup, users};
use crate::process::{self, Environment};

resolver!(windlass_preload_resolver);

static WAY_IN: WayIn = WayIn::new(
    &[&LIBCRYPTO, &LIBSSL, &LIBGNUTLS],
    &[LIBCRYPTO_HOOKS, LIBSSL_HOOKS, LIBGNUTLS_HOOKS],
    users::CHANGING,
    c"windlass_preload_resolver",
    Sibling::in_front(c"windlass_trace_next"),
    users::note_changer,
    all_stores::complete,
);

/// Runs when the library has been loaded: before all other constructors of a program that starts with it (`-z
/// initfirst`), where the C library has not looked at the environment yet. glibc passes it on (elf/dl-init.c).
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

extern "C" fn begin(_count: c_int, _arguments: *const *const c_char, environment: *const *const c_char) {
    let _errno = KeptErrno::new();
    let _ = catch_unwind(|| {
        // SAFETY: what the program was started with.
        let environment = unsafe { Environment::new(environment) };
        if process::decide(environment) {
            serve_by(&Methods { first: lookup::method, default_store: default_store::method });
            process::prepare(environment);
            linker::watch_forks();
            WAY_IN.attach(true);
        }
    });
}

/// Comes between the program and its TLS libraries once more, after [`windlass_detach`]: loading the library does it
/// the first time. 1 if calls are seen from now on, 0 if the library is switched off (`WINDLASS_DISABLE`, secure
/// execution), -1 if it can't.
///
/// Contexts that were made before stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_attach() -> c_int {
    if !process::enabled() {
        return 0;
    }
    let is_attached = WAY_IN.is_attached() || WAY_IN.attach(false);
    process::set_leaving(!is_attached);
    if is_attached { 1 } else { -1 }
}

/// Takes the library out of the way: stores get all that was registered with them, and calls go to the TLS libraries
/// themselves. What the program found by `dlsym` meanwhile stays as it is. 0, or -1 if it can't.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_detach() -> c_int {
    if !WAY_IN.is_attached() {
        return 0;
    }
    if is_locking() {
        return -1;
    }
    // What the program calls from where libcrypto has called it is as any other call.
    let _outside = outside();
    process::set_leaving(true);
    all_stores::part();
    let is_detached = WAY_IN.detach();
    process::set_leaving(is_detached);
    // What was given out by a call that had begun before.
    all_stores::part();
    if is_detached { 0 } else { -1 }
}

/// For the tracing library, which stands in front and finds a trampoline in a slot: the function to which it leads, or
/// null.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_preload_bound_to(trampoline: *const c_void) -> *const c_void {
    way_in::bound_to(trampoline)
}
