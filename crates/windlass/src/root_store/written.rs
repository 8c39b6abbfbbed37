//! What a compiled store brings along: indices, still as they were written, of which each is read when it is first
//! asked for.

use super::bytes::Bytes;

/// See the module. What turns out not to be an index is made anew from the certificates.
pub(crate) struct Written {
    pub raw_subjects: Bytes,
    pub issuers_and_serials: Bytes,
    pub key_ids: Bytes,
    /// The number of the rules, and what they gave.
    pub finding: Option<(u16, u8)>,
}
