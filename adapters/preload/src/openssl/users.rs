//! Whether anything in this process can change certificates. Then each store gets certificates of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use windlass_interpose::definitions::Name;

static CHANGES: AtomicBool = AtomicBool::new(false);

/// Whether a function that changes certificates is imported by a loaded object, or was asked for with `dlsym`.
pub fn change_certificates() -> bool {
    CHANGES.load(Ordering::Acquire)
}

/// From now on certificates can be changed.
pub fn note_changer() {
    CHANGES.store(true, Ordering::Release);
}

/// Functions that change a parsed certificate in a way that its users see.
pub const CHANGING: &[Name<'static>] = &[
    Name::new(c"X509_add1_trust_object"),
    Name::new(c"X509_add1_reject_object"),
    Name::new(c"X509_trust_clear"),
    Name::new(c"X509_reject_clear"),
    Name::new(c"X509_alias_set1"),
    Name::new(c"X509_keyid_set1"),
    Name::new(c"X509_set_ex_data"),
    Name::new(c"X509_set0_distinguishing_id"),
    Name::new(c"X509_set_proxy_flag"),
    Name::new(c"X509_set_proxy_pathlen"),
];
