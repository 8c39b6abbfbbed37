//! `windlass prune`: removes superfluous files from .NET stores and hashed directories, and can restore them.
//!
//! The course of a prune: `scope` selects the directories, on this machine or in an `image`; `dotnet` and `hashed`
//! search one directory each and return items, which make a `plan`; `apply` writes a `record` into a new directory of
//! `backups`, then moves the items one by one; `undo` reads the record. windlass-journal does the reading, moving and
//! recording.

#![deny(unsafe_code)]

mod apply;
mod backups;
mod context;
mod dotnet;
mod hashed;
mod image;
mod packages;
mod plan;
mod record;
mod scope;
mod undo;

pub use apply::apply;
pub use backups::{Backup, Backups, usual};
pub use image::Image;
pub use plan::{Item, Kind, Namesake, Note, Plan, Store};
pub use scope::{Wanted, plan};
pub use undo::{Undo, apply as put_back, plan as plan_undo};

#[cfg(test)]
mod tests;
