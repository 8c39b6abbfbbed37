//! What `windlass install` and `windlass prune` have in common: changes of a file system that are written down before
//! they are made, each of them atomic, so that a command that was killed anywhere can be undone.
//!
//! All is done by the descriptors of opened directories (`directory`), never through a link, so that nobody can lead a
//! change elsewhere. `changes` has the atomic changes, `transfer` moves a file, also to another file system, and
//! `record` keeps what was done. What others could have written is not believed (`trust`), and of two commands one is
//! kept out (`lock`).

#![deny(unsafe_code)]

pub mod bytes;
mod changes;
mod directory;
mod failure;
mod lock;
pub mod record;
mod seen;
mod stop;
mod transfer;
pub mod trust;

pub use changes::{Attributes, parent, temporary};
pub use directory::{Directory, is_no_directory, is_nowhere};
pub use failure::{failure, without_number};
pub use lock::Lock;
pub use seen::{Held, Seen, bytes_of_at_most};
#[cfg(any(test, feature = "testing"))]
pub use stop::{APART, LEFT};
pub use transfer::{MAX_FILE, is_about_one, is_copied, transfer};
