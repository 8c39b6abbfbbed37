//! Compiled stores: sources of trust, indexed once for the whole machine and written to files.
//!
//! `docs/compiled-store.md` describes the layout of the file. These rules keep a compiled store from ever widening
//! trust:
//!
//! - It is only a shortcut to the result of reading the source. It is used while every file of the source has the same
//!   identity as when it was compiled, or the same content (by SHA-256); otherwise it is ignored.
//! - It is only believed if root owns it, its directory and all directories above, and nobody else may write to them.
//!   In a directory that WINDLASS_STORE names, the effective user may also own the file and the directory.
//! - It is read into memory, never mapped: a later truncation or read error of the file can't affect a process that
//!   uses it. A checksum covers all of it, and every offset is checked.
//! - It is replaced by rename. A reader sees either the old file or the new one.

mod directories;
mod format;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod image;
mod inspect;
mod reader;
mod root;
mod trusted;
mod writer;

use sha2::{Digest, Sha256};

use crate::source::{Source, SourceRef};

pub use directories::{Directories, SYSTEM_DIRECTORY};
pub use format::{Malformed, VERSION};
pub use image::{CompileError, Image, compile};
pub use inspect::{Description, Freshness, Stale, all, inspect};
#[cfg(test)]
pub(crate) use reader::digests_are_quick;
pub(crate) use reader::{Candidate, Found, find};
pub use root::{Last, Root};
pub use trusted::{Distrust, ReadError};
pub(crate) use trusted::{Voucher, is_vouched_for};
pub use writer::{Cleared, Overwrite, WriteError, Written, clear, write};

/// The file name of a source's compiled store within a directory: the first half of the SHA-256 of the source's name,
/// in hexadecimal. A source with two names has two compiled stores.
pub fn file_name(source: &Source) -> String {
    name_of(source.borrow())
}

fn name_of(source: SourceRef<'_>) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut hash = Sha256::new();
    hash.update([format::kind(source)]);
    hash.update(source.path().as_os_str().as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let mut name = String::with_capacity(NAME_LEN);
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    for byte in digest.iter().take(16) {
        name.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    name.push_str(SUFFIX);
    name
}

const SUFFIX: &str = ".store";
const NAME_LEN: usize = 32 + SUFFIX.len();
