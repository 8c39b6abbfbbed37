//! Facts about a machine or an image of one: where trust lies (`places/`) and what is in it (`anchors/`), what a
//! process is (`processes/`), what the dynamic linker can load into what (`loader/`), what a unit of systemd says
//! (`unit_file.rs`). Nothing here changes a machine or prints anything. What is read may be anybody's, so reads are
//! bounded and nothing but regular files is opened.

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

pub use failure::{Failure, FailureKind};
