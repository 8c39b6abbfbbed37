//! Listeners to GnuTLS' log messages.
//!
//! Adding a certificate that is not a CA's to a list writes a line to the audit log (verify-high.c, `add_cas`). The
//! line goes to the audit log function, else to the log function, else nowhere (errors.c, `_gnutls_audit_log`). While
//! nobody listens, these certificates are served like any other. Before a listener is installed, they are put where
//! they would have been by then.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::gnutls::api::LogFunction;
use crate::gnutls::fill;
use crate::gnutls::libgnutls::original;
use crate::gnutls::list::Source;
use crate::hook::{Caller, shielded};
use crate::process;

static HEARD: AtomicBool = AtomicBool::new(false);
/// Set when everything that a listener would have heard of is done.
static READY: AtomicBool = AtomicBool::new(false);

/// Whether anybody listens, or has listened.
pub fn is_heard() -> bool {
    // gnutls_global_init reads it, before any listener could exist.
    HEARD.load(Ordering::Acquire) || process::environment(c"GNUTLS_DEBUG_LEVEL").is_some()
}

/// `gnutls_global_set_log_function`.
pub extern "C-unwind" fn set_log_function(function: Option<LogFunction>, caller: Caller) {
    listen(function.is_some());
    original!(None, caller, gnutls_global_set_log_function(function), or())
}

/// `gnutls_global_set_audit_log_function`.
pub extern "C-unwind" fn set_audit_log_function(function: Option<LogFunction>, caller: Caller) {
    listen(function.is_some());
    original!(None, caller, gnutls_global_set_audit_log_function(function), or())
}

fn listen(somebody: bool) {
    if somebody && process::enabled() && !READY.load(Ordering::Acquire) {
        shielded(|| {
            // As in `server`.
            HEARD.store(true, Ordering::SeqCst);
            fill::complete_where(Source::is_audited);
            READY.store(true, Ordering::Release);
            Some(())
        });
    }
}
