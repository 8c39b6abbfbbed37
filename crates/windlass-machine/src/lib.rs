//! Facts about a machine or an image of one: where trust is stored (`places/`) and its content (`anchors/`), running
//! processes (`processes/`), which libraries the dynamic linker can load into which programs (`loader/`), and systemd's
//! unit files (`unit_file.rs`). Nothing here changes a machine or prints anything. Any user may have written the files:
//! reads are bounded, and only regular files are opened.

#![deny(unsafe_code)]

pub mod anchors;
mod failure;
pub mod json;
pub mod loader;
pub mod places;
pub mod printable;
pub mod processes;
pub mod regular;
pub mod shell;
pub mod unit_file;

pub use failure::{Failure, FailureKind, without_number};
