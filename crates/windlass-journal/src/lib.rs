//! The common base of `windlass install` and `windlass prune`: file system changes that are recorded before they are
//! made, each of them atomic. A command that was killed at any point can be undone.
//!
//! Every change goes through the descriptor of an opened directory (`directory`), never through a link, and cannot be
//! redirected elsewhere. `changes` has the atomic changes, `transfer` moves a file, across file systems too, and
//! `record` stores the changes that were made. Files that others could have written are not believed (`trust`), and
//! only one command runs at a time (`lock`).

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
pub use failure::failure;
pub use lock::Lock;
pub use seen::{Held, Seen, bytes_of_at_most};
#[cfg(any(test, feature = "testing"))]
pub use stop::{APART, LEFT};
pub use transfer::{MAX_FILE, is_about_one, is_copied, transfer};
