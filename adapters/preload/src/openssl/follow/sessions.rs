//! Sessions of clients: a resumed session is not verified again, so it is offered only while the store's contents are
//! those that its chain was verified with.
//!
//! Their number is noted with a session when it is made, which is when the client's first message is written
//! (`ssl_get_new_session`, ssl_sess.c); copies keep it. That is before the verification, so the number is never newer
//! than what the verification saw. It is compared where a client's handshake begins, whichever way the connection got
//! its session.

#![allow(non_snake_case)] // the names of foreign functions

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_long, c_uchar, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::family::{COPIES, Copy, Libraries, Origin};

use crate::hook::{Caller, guarded};
use crate::openssl::api::{SSL, SSL_CTX, X509_STORE};
use crate::openssl::libcrypto::{LIBSSL, Libcrypto};
use crate::openssl::store::tracked;

use super::context::Functions;

/// `CRYPTO_EX_INDEX_SSL_SESSION` of <openssl/crypto.h>.
const EX_INDEX_SESSION: c_int = 2;
/// `SSL_CTRL_GET_VERIFY_CERT_STORE` of <openssl/ssl.h> (3.0).
const SSL_CTRL_GET_VERIFY_CERT_STORE: c_int = 137;

opaque! { SSL_SESSION }

functions! {
    /// What following needs of a libssl; every OpenSSL from 1.1.1 to 4.0 has all of them.
    Ssl {
        SSL_in_before: fn(*const SSL) -> c_int;
        SSL_is_server: fn(*const SSL) -> c_int;
        SSL_ctrl: fn(*mut SSL, c_int, c_long, *mut c_void) -> c_long;
        SSL_get_SSL_CTX: fn(*const SSL) -> *mut SSL_CTX;
        SSL_CTX_get_cert_store: fn(*const SSL_CTX) -> *mut X509_STORE;
        SSL_get_session: fn(*const SSL) -> *mut SSL_SESSION;
        SSL_set_session: fn(*mut SSL, *mut SSL_SESSION) -> c_int;
        SSL_SESSION_get_ex_data: fn(*const SSL_SESSION, c_int) -> *mut c_void;
        SSL_SESSION_get0_peer: fn(*mut SSL_SESSION) -> *mut c_void;
        SSL_SESSION_get_max_early_data: fn(*const SSL_SESSION) -> u32;
        SSL_SESSION_get_master_key: fn(*const SSL_SESSION, *mut c_uchar, usize) -> usize;
        SSL_SESSION_set1_master_key: fn(*mut SSL_SESSION, *const c_uchar, usize) -> c_int;
        SSL_SESSION_get0_ticket: fn(*const SSL_SESSION, *mut *const c_uchar, *mut usize);
        SSL_SESSION_dup: fn(*const SSL_SESSION) -> *mut SSL_SESSION;
        SSL_SESSION_free: fn(*mut SSL_SESSION);
    } as required
}

static KNOWN: Libraries<Ssl> = Libraries::new(&LIBSSL);

impl Ssl {
    /// The functions of the libssl that a call is meant for.
    pub fn of(caller: Caller) -> Option<&'static Ssl> {
        KNOWN.of(caller, |copy: &'static Copy| {
            let find = |name: &CStr| copy.find(Name::new(name)).map_or(ptr::null_mut(), |found| found as *mut c_void);
            // SAFETY: the declarations are those of OpenSSL's headers.
            unsafe { Ssl::load(find) }
        })
    }

    /// The store that a connection is verified with (ssl_verify_cert_chain, ssl_cert.c).
    ///
    /// # Safety
    /// The connection is valid.
    unsafe fn store_of(&self, ssl: *mut SSL) -> *mut X509_STORE {
        let mut own: *mut X509_STORE = ptr::null_mut();
        // SAFETY: as the caller states: a connection has a context. Room for the answer. 1.1.1 does not know the
        // command, and leaves `own` alone.
        unsafe {
            (self.SSL_ctrl)(ssl, SSL_CTRL_GET_VERIFY_CERT_STORE, 0, (&raw mut own).cast());
            if own.is_null() { (self.SSL_CTX_get_cert_store)((self.SSL_get_SSL_CTX)(ssl)) } else { own }
        }
    }
}

/// What a client's handshake that is under way trusts.
#[derive(Clone, Copy)]
pub struct Trust {
    functions: &'static Functions,
    /// The number of the contents.
    number: usize,
    /// Whether the contents are others than those at the load.
    has_changed: bool,
}

thread_local! {
    static CURRENT: Cell<Option<Trust>> = const { Cell::new(None) };
}

/// The handshake that this thread has begun with; the previous one again when dropped. Code of the program that
/// leaves by `longjmp` leaves it set until the thread's next handshake begins.
pub struct Begun(Option<Trust>);

impl Drop for Begun {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// How a handshake begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// By `SSL_connect`, which makes a client of the connection.
    Connect,
    /// By a call that goes on as what the connection is.
    Any,
    /// With early data.
    EarlyData,
}

/// Call this before a call that may begin a handshake. A session that was verified with other contents is taken out of
/// the connection.
pub fn begin(ssl: *mut SSL, how: Beginning, caller: Caller) -> Option<Begun> {
    // What libssl calls itself belongs to a call that was seen.
    if ssl.is_null() || caller.is_own() {
        return None;
    }
    let library = Ssl::of(caller)?;
    // SAFETY: the program's own connection.
    let is_begun =
        unsafe { (library.SSL_in_before)(ssl) == 0 || how != Beginning::Connect && (library.SSL_is_server)(ssl) != 0 };
    if is_begun {
        return None;
    }
    let begun = Begun(CURRENT.replace(None));
    // SAFETY: the program's own connection.
    CURRENT.set(guarded(|| unsafe { Trust::of(library, ssl) }));
    if let Some(trust) = CURRENT.get() {
        // SAFETY: as above; a session belongs to the connection as long as nobody replaces it.
        unsafe {
            let session = (library.SSL_get_session)(ssl);
            if !session.is_null() && !trust.holds(library, session) {
                let decoy = if how == Beginning::EarlyData { trust.decoy(library, session) } else { ptr::null_mut() };
                (library.SSL_set_session)(ssl, decoy);
                (library.SSL_SESSION_free)(decoy);
            }
        }
    }
    Some(begun)
}

/// The handshake that this thread has begun.
pub fn current() -> Option<Trust> {
    CURRENT.get()
}

impl Trust {
    /// None if the store of the connection is not followed, and was not until now.
    ///
    /// # Safety
    /// The connection is valid.
    unsafe fn of(library: &Ssl, ssl: *mut SSL) -> Option<Trust> {
        // SAFETY: as the caller states.
        let state = tracked(unsafe { library.store_of(ssl) })?;
        let following = state.follow.as_deref()?;
        let is_its = |caller: &Caller| Libcrypto::known_of(*caller).is_some_and(|known| ptr::eq(known, state.library));
        let mut callers = (0..COPIES).map(|copy| Caller::new(copy, Origin::Companion));
        let functions = Functions::of(callers.find(is_its)?)?;
        functions.index_of_sessions();
        let decision = super::decision(state, functions)?;
        let has_changed = decision.successor.is_some();
        if following.is_left() && !has_changed {
            return None;
        }
        Some(Trust { functions, number: decision.number(&following.sources), has_changed })
    }

    /// Whether the chain of a session was verified with these contents. Of a session that was read from its encoded
    /// form this is not known: it holds until the first change.
    ///
    /// # Safety
    /// The session is valid.
    unsafe fn holds(&self, library: &Ssl, session: *mut SSL_SESSION) -> bool {
        // SAFETY: as the caller states.
        let noted = unsafe { (library.SSL_SESSION_get_ex_data)(session, self.functions.index_of_sessions()) } as usize;
        if noted == 0 { !self.has_changed } else { noted == self.number }
    }

    /// The same for a session from the program's callback. A pre-shared key that no certificate belongs to is the
    /// program's own trust.
    ///
    /// # Safety
    /// As for `holds`.
    pub unsafe fn holds_key(&self, library: &Ssl, session: *mut SSL_SESSION) -> bool {
        // SAFETY: as the caller states.
        unsafe { self.holds(library, session) || (library.SSL_SESSION_get0_peer)(session).is_null() }
    }

    /// A program that has early data to send has seen that the session allows it. It gets a session like this one that
    /// no server knows: the early data is refused, which every such program is prepared for (SSL_read_early_data(3)),
    /// and the handshake verifies the chain. Key and ticket are random, so nobody can read the early data. Null if that
    /// can't be had: then libssl refuses the call.
    ///
    /// # Safety
    /// As for `holds`.
    unsafe fn decoy(&self, library: &Ssl, session: *mut SSL_SESSION) -> *mut SSL_SESSION {
        let mut key = [0; 256];
        // SAFETY: as the caller states; the copy is ours alone, and its ticket is memory of its own.
        unsafe {
            if (library.SSL_SESSION_get_max_early_data)(session) == 0 {
                return ptr::null_mut();
            }
            let decoy = (library.SSL_SESSION_dup)(session);
            if decoy.is_null() {
                return decoy;
            }
            let (mut ticket, mut len) = (ptr::null(), 0);
            (library.SSL_SESSION_get0_ticket)(decoy, &mut ticket, &mut len);
            let size = (library.SSL_SESSION_get_master_key)(decoy, key.as_mut_ptr(), key.len());
            let randomize = |bytes: *mut c_uchar, len: usize| {
                c_int::try_from(len).is_ok_and(|len| len > 0 && (self.functions.api.RAND_bytes)(bytes, len) == 1)
            };
            let is_made = !ticket.is_null()
                && randomize(ticket.cast_mut(), len)
                && randomize(key.as_mut_ptr(), size)
                && (library.SSL_SESSION_set1_master_key)(decoy, key.as_ptr(), size) == 1;
            if is_made {
                return decoy;
            }
            (library.SSL_SESSION_free)(decoy);
        }
        ptr::null_mut()
    }
}

impl Functions {
    /// The index under which sessions keep the number of the contents.
    fn index_of_sessions(&self) -> c_int {
        self.index_in(&self.index_of_sessions, EX_INDEX_SESSION, Some(note), None)
    }
}

/// The `new` function of the index: a session is made, with its data in `data`. Copies of a session keep the number.
unsafe extern "C" fn note(
    _session: *mut c_void,
    _value: *mut c_void,
    data: *mut c_void,
    index: c_int,
    _long: c_long,
    functions: *mut c_void,
) {
    if let Some(trust) = CURRENT.get() {
        // SAFETY: the pointer that `index_in` passed, to functions that live as long as the process.
        let functions = unsafe { &*functions.cast_const().cast::<Functions>() };
        // SAFETY: libcrypto passes the data of the new session.
        unsafe { (functions.api.CRYPTO_set_ex_data)(data, index, trust.number as *mut c_void) };
    }
}

static MAY_START_UNSEEN: AtomicBool = AtomicBool::new(false);

/// The program uses `BIO_f_ssl`, which begins handshakes inside libssl (`ssl_read` and `ssl_ctrl`, bio_ssl.c).
pub fn note_unseen_starts() {
    MAY_START_UNSEEN.store(true, Ordering::Release);
}

/// Whether a handshake may begin where no hook sees it: sessions would be offered without asking. So nothing is
/// followed any more.
pub fn may_start_unseen() -> bool {
    MAY_START_UNSEEN.load(Ordering::Acquire)
}
