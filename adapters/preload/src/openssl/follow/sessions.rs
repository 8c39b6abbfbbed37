//! Sessions of clients: a resumed session is not verified again, so it is offered only while the store's contents are
//! those that its chain was verified with.
//!
//! Their number is noted with the session of the connection when its chain has been verified; tickets that come later
//! are copies of it. It is compared where a client's handshake begins, whichever way the connection got its session.

#![allow(non_snake_case)] // the names of foreign functions

use std::ffi::{CStr, c_int, c_long, c_uchar, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::family::{COPIES, Copy, Libraries, Origin};
use windlass_interpose::unwinding;

use crate::hook::{Caller, guarded};
use crate::openssl::api::{SSL, SSL_CTX, X509_STORE, X509_STORE_CTX};
use crate::openssl::libcrypto::{LIBCRYPTO, LIBSSL, Libcrypto, defined, libssl_of};
use crate::openssl::store::tracked;

use super::context::Functions;

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
        SSL_get_ex_data_X509_STORE_CTX_idx: fn() -> c_int;
        SSL_SESSION_set_ex_data: fn(*mut SSL_SESSION, c_int, *mut c_void) -> c_int;
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
        // SAFETY: as the caller states: a connection has a context. Room for the answer. A
        // version that does not know the command leaves `own` alone.
        unsafe {
            (self.SSL_ctrl)(ssl, SSL_CTRL_GET_VERIFY_CERT_STORE, 0, (&raw mut own).cast());
            if own.is_null() { (self.SSL_CTX_get_cert_store)((self.SSL_get_SSL_CTX)(ssl)) } else { own }
        }
    }
}

/// What is noted with a session whose chain was verified with anything but a decision's contents: no contents have it.
const NOBODYS: usize = usize::MAX;

/// What a client's handshake trusts.
pub enum Trusted {
    /// The store of the connection is not followed, and was not until now.
    NotFollowed,
    /// The store is followed, but there is no saying what it trusts now.
    Unknown,
    Known(Trust),
}

/// The contents that a followed store trusts.
pub struct Trust {
    functions: &'static Functions,
    /// None in a thread of another library context.
    index: Option<c_int>,
    /// The number of the contents.
    number: usize,
    /// Whether the contents are others than those at the load.
    has_changed: bool,
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
pub fn begin(ssl: *mut SSL, how: Beginning, caller: Caller) {
    // What libssl calls itself belongs to a call that was seen.
    if ssl.is_null() || caller.is_own() {
        return;
    }
    let Some(library) = Ssl::of(caller) else { return };
    // SAFETY: the program's own connection; a session belongs to it as long as nobody replaces it.
    unsafe {
        let is_client = how == Beginning::Connect || (library.SSL_is_server)(ssl) == 0;
        if (library.SSL_in_before)(ssl) == 0 || !is_client {
            return;
        }
        let session = (library.SSL_get_session)(ssl);
        if session.is_null() {
            return;
        }
        let decoy = match Trust::of(library, ssl) {
            Trusted::NotFollowed => return,
            Trusted::Known(trust) if trust.holds(library, session) => return,
            Trusted::Known(trust) if how == Beginning::EarlyData => trust.decoy(library, session),
            Trusted::Known(_) | Trusted::Unknown => ptr::null_mut(),
        };
        (library.SSL_set_session)(ssl, decoy);
        (library.SSL_SESSION_free)(decoy);
    }
}

/// `X509_verify_cert`: if this was the chain of a client's connection, the number of the contents is noted with its
/// session. libssl names the connection in the context (ssl_verify_cert_chain, ssl_cert.c); the session is the one that
/// the connection keeps (tls_process_server_certificate, statem_clnt.c).
pub extern "C-unwind" fn verify_cert(context: *mut X509_STORE_CTX, caller: Caller) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut X509_STORE_CTX) -> c_int;
    let Some(function) = defined::<Function>(LIBCRYPTO.copy(caller.copy()), c"X509_verify_cert") else { return -1 };
    unwinding::prepare();
    // SAFETY: the program's own argument.
    let result = unsafe { function(context) };
    if !context.is_null() && !caller.is_own() {
        // SAFETY: the program's own context, which a verification leaves valid.
        guarded(|| unsafe { note(context, caller) });
    }
    result
}

/// # Safety
/// The context is valid.
unsafe fn note(context: *mut X509_STORE_CTX, caller: Caller) -> Option<()> {
    let functions = Functions::of(caller)?;
    let (number, _) = libssl_of(caller)?;
    let library = Ssl::of(Caller::new(number, Origin::Program))?;
    // SAFETY: as the caller states; libssl keeps the connection there, which is valid as long as the context is.
    unsafe {
        let index = (library.SSL_get_ex_data_X509_STORE_CTX_idx)();
        let ssl: *mut SSL = (functions.api.X509_STORE_CTX_get_ex_data)(context, index).cast();
        if ssl.is_null() || (library.SSL_is_server)(ssl) != 0 {
            return None;
        }
        let session = (library.SSL_get_session)(ssl);
        let index = functions.index_of_sessions(Libcrypto::of_caller(caller)?)?;
        if !session.is_null() {
            let state = tracked((functions.api.X509_STORE_CTX_get0_store)(context));
            let number = state.and_then(super::number_of).unwrap_or(NOBODYS);
            (library.SSL_SESSION_set_ex_data)(session, index, number as *mut c_void);
        }
    }
    Some(())
}

impl Trust {
    /// # Safety
    /// The connection is valid.
    pub unsafe fn of(library: &Ssl, ssl: *mut SSL) -> Trusted {
        // SAFETY: as the caller states.
        let state = tracked(unsafe { library.store_of(ssl) });
        let followed = state.and_then(|state| Some((state, state.follow.as_deref()?)));
        let Some((state, following)) = followed else { return Trusted::NotFollowed };
        let is_its = |caller: &Caller| Libcrypto::known_of(*caller).is_some_and(|known| ptr::eq(known, state.library));
        let found = guarded(|| {
            let mut callers = (0..COPIES).map(|copy| Caller::new(copy, Origin::Companion));
            let functions = Functions::of(callers.find(is_its)?)?;
            let decision = super::decision(state, functions)?;
            let index = functions.index_of_sessions(state.library);
            let has_changed = decision.successor.is_some();
            Some(Trust { functions, index, number: decision.number(&following.sources), has_changed })
        });
        match found {
            _ if following.is_left() && super::last_successor(state).is_none() => Trusted::NotFollowed,
            Some(trust) => Trusted::Known(trust),
            None => Trusted::Unknown,
        }
    }

    /// Whether the chain of a session was verified with these contents. Of a session that was read from its encoded
    /// form, or that the program itself has verified, this is not known: it holds until the first change.
    ///
    /// # Safety
    /// The session is valid.
    unsafe fn holds(&self, library: &Ssl, session: *mut SSL_SESSION) -> bool {
        let Some(index) = self.index else { return false };
        // SAFETY: as the caller states.
        let noted = unsafe { (library.SSL_SESSION_get_ex_data)(session, index) } as usize;
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
    pub unsafe fn decoy(&self, library: &Ssl, session: *mut SSL_SESSION) -> *mut SSL_SESSION {
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
