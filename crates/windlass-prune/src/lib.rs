//! `windlass prune`: takes away what is superfluous in .NET stores and hashed directories, and can put it back.
//!
//! The way of one prune: `scope` says which directories, of this machine or of an `image`; `dotnet` and `hashed` look
//! through one each and give items, which make a `plan`; `apply` writes a `record` into a new directory of `backups`,
//! then moves item by item; `undo` reads the record. Looking, moving and recording are windlass-journal's.

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
pub use plan::{Item, Kind, Note, Plan, Store};
pub use scope::{Wanted, plan};
pub use undo::{Undo, apply as put_back, plan as plan_undo};

#[cfg(test)]
mod tests;
