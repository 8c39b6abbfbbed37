//! Who on this machine opens CA bundles and hashed directories, live.
//!
//! fanotify(7) reports each open of a marked file with the number of the process. Nothing of that process is touched, and it does
//! not wait. Three threads: `reader` takes events from the kernel as fast as they come, since the kernel makes one of equal events
//! that wait; `worker` finds out whose they are and keeps the [`ledger`]; the main thread prints.

pub mod by_proc;
pub mod control;
mod descriptor;
pub mod ledger;
mod marks;
mod reader;
pub mod recent;
pub mod roots;
pub mod screen;
pub mod snapshot;
pub mod sources;
mod tally;
pub mod users;
pub mod watch;
mod worker;
