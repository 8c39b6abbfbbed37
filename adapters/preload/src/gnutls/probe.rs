//! Whether a libgnutls' calls of itself reach us.
//!
//! That they go through its procedure linkage table, `library` reads from its relocations. Where the table leads is the dynamic
//! linker's choice, and does not show there: to the library itself if that was opened with `RTLD_DEEPBIND`, or to another
//! library that was preloaded before us. So credentials are made and freed once, and the hooks of what both have to call in
//! another source file (cert-cred.c: `trust_list_init`, `trust_list_deinit`) tell whether they were reached.

use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use std::ptr;

use crate::gnutls::api::{List, Required};
use crate::hook::{self, Caller};
use crate::object::Object;

/// A probe at work.
struct Probe<'a> {
    object: &'a Object,
    api: &'a Required,
    begun: Cell<bool>,
    ended: Cell<bool>,
}

thread_local! {
    /// The probe that this thread is at.
    static ACTIVE: Cell<*const Probe<'static>> = const { Cell::new(ptr::null()) };
}

/// Makes and frees credentials. Whether both calls of the library's own were seen; None if there is no memory for them.
pub fn sees_calls(object: &Object, api: &Required) -> Option<bool> {
    let probe = Probe { object, api, begun: Cell::new(false), ended: Cell::new(false) };
    let _errno = hook::KeptErrno::new();
    let _inside = hook::inside();
    let _uncancelled = hook::uncancelled();
    let _active = Active(ACTIVE.replace((&raw const probe).cast()));
    let mut credentials = ptr::null_mut();
    // SAFETY: a place for the result.
    if unsafe { (api.gnutls_certificate_allocate_credentials)(&mut credentials) } < 0 || credentials.is_null() {
        return None;
    }
    // SAFETY: just made.
    unsafe { (api.gnutls_certificate_free_credentials)(credentials) };
    Some(probe.begun.get() && probe.ended.get())
}

/// For the hook of `gnutls_x509_trust_list_init`: answers what a probe of this thread has caused.
pub fn init(list: *mut *mut List, size: c_uint, caller: Caller) -> Option<c_int> {
    with_active(|probe| {
        probe.begun.set(probe.begun.get() || probe.object.contains(caller.address()));
        // SAFETY: the arguments of the call that is answered.
        unsafe { (probe.api.gnutls_x509_trust_list_init)(list, size) }
    })
}

/// For the hook of `gnutls_x509_trust_list_deinit`.
pub fn deinit(list: *mut List, all: c_uint, caller: Caller) -> Option<()> {
    with_active(|probe| {
        probe.ended.set(probe.ended.get() || probe.object.contains(caller.address()));
        // SAFETY: the arguments of the call that is answered.
        unsafe { (probe.api.gnutls_x509_trust_list_deinit)(list, all) };
    })
}

fn with_active<R>(answer: impl FnOnce(&Probe<'_>) -> R) -> Option<R> {
    // SAFETY: `sees_calls` of this thread sets it, has not returned, and puts back what was there before it does.
    unsafe { ACTIVE.get().as_ref() }.map(answer)
}

/// Puts back what was active before.
struct Active(*const Probe<'static>);

impl Drop for Active {
    fn drop(&mut self) {
        ACTIVE.set(self.0);
    }
}
