//! Sessions that a program's callback offers as pre-shared keys of TLS 1.3 (`SSL_set_psk_use_session_callback`).
//!
//! libssl copies the callback from contexts to connections, so it can't be found by its connection. In its place libssl
//! gets a function that stands for this very callback.

use std::ffi::{c_int, c_uchar, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::fork_lock::ForkLock;
use crate::openssl::api::SSL;

use super::sessions::{SSL_SESSION, Ssl, Trust, Trusted};

/// `SSL_psk_use_session_cb_func`.
pub type Callback = unsafe extern "C-unwind" fn(
    *mut SSL,
    *const c_void,
    *mut *const c_uchar,
    *mut usize,
    *mut *mut SSL_SESSION,
) -> c_int;

/// A callback of the program's, and the functions of its libssl.
struct Place {
    callback: AtomicUsize,
    library: AtomicPtr<Ssl>,
}

const PLACES: usize = 8;
static ALL: [Place; PLACES] =
    [const { Place { callback: AtomicUsize::new(0), library: AtomicPtr::new(ptr::null_mut()) } }; PLACES];
static LOCK: ForkLock = ForkLock::new();

/// What libssl gets in place of a callback. None if the program has too many.
pub fn stand_in(callback: Callback, library: &'static Ssl) -> Option<Callback> {
    let _guard = LOCK.lock();
    let (address, functions) = (callback as usize, ptr::from_ref(library).cast_mut());
    let free = || ALL.iter().position(|place| place.callback.load(Ordering::Acquire) == 0);
    let is_it = |place: &Place| {
        place.callback.load(Ordering::Acquire) == address && place.library.load(Ordering::Acquire) == functions
    };
    let number = ALL.iter().position(is_it).or_else(free)?;
    ALL[number].library.store(functions, Ordering::Release);
    ALL[number].callback.store(address, Ordering::Release);
    STAND_INS.get(number).copied()
}

static STAND_INS: [Callback; PLACES] =
    [offer::<0>, offer::<1>, offer::<2>, offer::<3>, offer::<4>, offer::<5>, offer::<6>, offer::<7>];

/// Asks the program, and offers nothing that was verified with other contents: as if it had no key. Early data needs
/// one, so it gets a decoy.
unsafe extern "C-unwind" fn offer<const NUMBER: usize>(
    ssl: *mut SSL,
    digest: *const c_void,
    id: *mut *const c_uchar,
    len: *mut usize,
    session: *mut *mut SSL_SESSION,
) -> c_int {
    let place = &ALL[NUMBER];
    // SAFETY: the place was filled with a callback, and with functions that live as long as the process, before libssl
    // got this function.
    let (callback, library) = unsafe {
        let callback = std::mem::transmute::<usize, Callback>(place.callback.load(Ordering::Acquire));
        (callback, &*place.library.load(Ordering::Acquire))
    };
    // SAFETY: libssl's own arguments for this callback.
    let result = unsafe { callback(ssl, digest, id, len, session) };
    if result != 1 {
        return result;
    }
    // SAFETY: where libssl has room for the answer; a session there is a reference for libssl, and libssl copies the
    // identity while it has the session.
    unsafe {
        if (*session).is_null() {
            return result;
        }
        let other = match Trust::of(library, ssl) {
            Trusted::NotFollowed => return result,
            Trusted::Known(trust) if trust.holds_key(library, *session) => return result,
            Trusted::Known(trust) => trust.decoy(library, *session),
            Trusted::Unknown => ptr::null_mut(),
        };
        (library.SSL_SESSION_free)(*session);
        *session = other;
        (*id, *len) = (ptr::null(), 0);
        if !other.is_null() {
            (library.SSL_SESSION_get0_ticket)(other, id, len);
        }
    }
    result
}
