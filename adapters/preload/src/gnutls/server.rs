//! Servers that ask for a client's certificate send the names of their CAs.
//!
//! libgnutls reads them straight from the list (auth/cert.c, tls13/certificate_request.c), unseen by any hook, but only
//! in sessions that were told to ask. Their credentials, and thus the list, may come later.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::gnutls::api::Session;
use crate::gnutls::fill;
use crate::gnutls::libgnutls::original;
use crate::gnutls::list::Source;
use crate::hook::{Caller, shielded};
use crate::process;

static ASKS: AtomicBool = AtomicBool::new(false);
/// Set when all lists with names are complete. Until then each thread that is going to ask completes them, or waits for
/// the thread that does.
static READY: AtomicBool = AtomicBool::new(false);

/// Whether a session of this process was told to ask. If it was, no list with names is lazy.
pub fn asks_clients() -> bool {
    ASKS.load(Ordering::Acquire)
}

/// `gnutls_certificate_server_set_request`. The first that is not `GNUTLS_CERT_IGNORE` completes all lists with names.
pub extern "C-unwind" fn set_request(session: *mut Session, request: c_uint, caller: Caller) {
    if request != 0 && process::enabled() && !READY.load(Ordering::Acquire) {
        shielded(|| {
            // A load that does not see this has added its source to a list before we reach that list, because it checks
            // with the list's lock held.
            ASKS.store(true, Ordering::SeqCst);
            fill::complete_where(Source::has_names);
            READY.store(true, Ordering::Release);
            Some(())
        });
    }
    original!(None, caller, gnutls_certificate_server_set_request(session, request), or())
}
