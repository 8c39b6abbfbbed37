//! Who on this machine opens CA bundles and hashed directories, live.
//!
//! fanotify(7) reports each open of a marked file with the number of the process. Nothing of that process is touched,
//! and it does not wait. Four threads: `reader` takes events from the kernel as fast as they come, since the kernel
//! makes one of equal events that wait; `worker` finds out whose they are and keeps the `ledger`; `looker` captures
//! processes, which may keep it waiting; the main thread prints.

#![deny(unsafe_code)]

pub mod by_proc;
mod by_watch;
mod descriptor;
mod entries;
mod ledger;
mod looker;
mod marks;
mod numbered;
mod parents;
mod pending;
mod reader;
mod recent;
mod roots;
pub mod snapshot;
mod source;
mod sources;
mod tally;
pub mod users;
mod wanted;
pub mod watch;
mod who;
mod worker;
