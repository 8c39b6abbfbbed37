//! A live view of the programs on this machine that open CA bundles and hashed directories.
//!
//! fanotify(7) reports each open of a marked file with the process id. The process is not touched, and does not wait.
//! There are four threads: `reader` takes events from the kernel as fast as they come, because the kernel merges equal
//! events that are waiting; `worker` identifies the processes and keeps the `ledger`; `looker` captures processes,
//! which may make it wait; the main thread prints. With `--metrics`, `scrape` is the fifth.

#![deny(unsafe_code)]

pub mod by_proc;
mod by_watch;
mod descriptor;
mod entries;
mod exposition;
mod held;
mod ledger;
mod looker;
mod marks;
mod numbered;
mod parents;
mod pending;
mod reader;
mod recent;
mod roots;
pub mod scrape;
mod series;
pub mod snapshot;
mod source;
mod sources;
mod tally;
pub mod users;
mod wanted;
pub mod watch;
mod who;
mod worker;
