//! Who listens to what GnuTLS says.
//!
//! A certificate that is no CA's gets a line in the audit log when it is added to a list (verify-high.c, `add_cas`),
//! which goes to the audit log function, else to the log function, else nowhere (errors.c, `_gnutls_audit_log`). While
//! nobody listens, such certificates are served as others are. Before somebody does, they are put where they would have
//! been by then.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::gnutls::api::LogFunction;
use crate::gnutls::fill;
use crate::gnutls::libgnutls::original;
use crate::gnutls::list::Source;
use crate::hook::{Caller, shielded};
use crate::process;

static HEARD: AtomicBool = AtomicBool::new(false);
/// All that somebody would have heard of is done.
static READY: AtomicBool = AtomicBool::new(false);

/// Whether somebody listens, or has.
pub fn is_heard() -> bool {
    // Read by gnutls_global_init, before anybody can see that.
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
