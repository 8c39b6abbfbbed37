//! What p11-kit-trust reads: a directory with `anchors`, `blocklist` and files beside them, or one file (p11-kit,
//! trust/token.c and trust/parser.c, 0.24 to 0.26). certdata.txt, which it does not read, is taken as one file too.
//!
//! What p11-kit passes over (unreadable files, text, unknown PEM blocks, certificates that are none) is passed over
//! here. Where only this crate can't read something, and it may take trust away, that is marked, and nothing of the
//! place is trusted; what can be read still takes trust away.

mod attributes;
mod file;
mod listing;
mod names;
mod object;
mod pem;
mod persist;
mod tree;
mod trusted_certificate;

pub(crate) use tree::{Tree, TreeState, is_unchanged, read};
pub(super) use trusted_certificate::{extension, list};

/// What p11-kit sees of a file that is text: it looks for things in it as in a C string (`strnstr`, common/compat.c).
fn text(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(bytes)
}

/// What lying in a place means for certificates there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// `anchors`, and a place that is one file: trusted, unless the file itself distrusts.
    Anchor,
    /// `blocklist` (`blacklist` before p11-kit 0.23.21): distrusted, whatever the file says.
    Blocked,
    /// What the file says.
    AsSaid,
}
