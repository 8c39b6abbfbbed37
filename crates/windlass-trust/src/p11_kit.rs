//! The input of p11-kit-trust: a directory with `anchors`, `blocklist` and files beside them, or one file (p11-kit,
//! trust/token.c and trust/parser.c, 0.24 to 0.26). certdata.txt, which p11-kit does not read, is accepted as one file
//! too.
//!
//! Parts that p11-kit skips (unreadable files, text, unknown PEM blocks, invalid certificates) are skipped here. A part
//! that only this crate can't read, and that may remove trust, is marked, and nothing of the place is trusted; readable
//! parts still remove trust.

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

/// The part of a text file that p11-kit sees: it searches the file as a C string (`strnstr`, common/compat.c).
fn text(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(bytes)
}

/// The meaning of a location for the certificates in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// `anchors`, and a place that is one file: trusted, unless the file itself distrusts.
    Anchor,
    /// `blocklist` (`blacklist` before p11-kit 0.23.21): distrusted, whatever the file itself says.
    Blocked,
    /// As the file itself says.
    AsSaid,
}
