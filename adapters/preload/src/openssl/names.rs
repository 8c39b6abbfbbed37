//! Conversion of libcrypto's names to the form of our reader.

use std::ptr;
use std::slice;

use windlass::{AnchorIndex, CanonicalName, RawName};

use crate::openssl::api::{Required, X509_NAME};
use crate::openssl::snapshot::Snapshot;

/// The canonical form of one of libcrypto's names; `None` if our reader can't canonicalise it.
pub fn canonical(api: &Required, name: *const X509_NAME) -> Option<CanonicalName> {
    // SAFETY: a valid name of this libcrypto, which nobody changes meanwhile.
    canonical_of(unsafe { encoded(api, name) }?)
}

/// The canonical form of an encoded name.
pub fn canonical_of(name: &[u8]) -> Option<CanonicalName> {
    CanonicalName::from_raw(RawName::from_der(name).ok()?).ok()
}

/// The canonical subject of one anchor.
pub fn canonical_subject(snapshot: &Snapshot, index: AnchorIndex) -> Option<CanonicalName> {
    let anchor = snapshot.roots.anchor(index);
    CanonicalName::from_raw(anchor.raw_subject()).ok()
}

/// The encoding of one of libcrypto's names.
///
/// # Safety
/// The name is valid, and neither changed nor freed as long as the result is used.
pub unsafe fn encoded<'a>(api: &Required, name: *const X509_NAME) -> Option<&'a [u8]> {
    let (mut der, mut length) = (ptr::null(), 0);
    // SAFETY: as the caller states; the encoding belongs to the name.
    if unsafe { (api.X509_NAME_get0_der)(name, &mut der, &mut length) } != 1 || der.is_null() {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { slice::from_raw_parts(der, length) })
}
