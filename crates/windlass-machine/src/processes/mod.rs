//! Running processes: their program, their TLS libraries, and whether Windlass is loaded.
//!
//! Everything is read from `/proc`, in two steps. A [`Capture`] quickly records the data that vanishes with the
//! process. Its [`Capture::facts`] then search the executable and the libraries, which may be large, and remember the
//! results in [`Executables`].
//!
//! A process is a stranger, and chooses its own name, arguments and files. Reads are bounded, only regular files are
//! opened, and all displayed text must go through [`crate::printable::printable`].

mod budget;
mod capture;
mod container;
mod executables;
mod libraries;
pub mod lossy;
pub mod maps;
mod patience;
mod proc_files;
mod served;
mod tls_code;

use std::path::PathBuf;

use serde::Serialize;

pub use budget::Budget;
pub use capture::{Capture, ExecutableId, executable};
pub use container::Container;
pub use executables::Executables;
pub use libraries::{Linkage, TlsKind, TlsLibrary};
pub use patience::Patience;
pub use proc_files::{pids, uid};
pub use served::{Reason, Served};

/// One process, as `/proc` showed it at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot. Together with `pid`, this identifies a process permanently.
    pub start_time: u64,
    /// Its effective user id.
    pub uid: u32,
    /// Its executable, by the path in the process's root; `None` for a kernel thread, or if this user may not see it.
    pub exe: Option<PathBuf>,
    /// Its arguments, beginning with the program's name; only the kernel's name for it if it has none.
    pub command: Vec<String>,
    /// The TLS libraries that are mapped, or linked into the executable.
    pub libraries: Vec<TlsLibrary>,
    /// Whether Windlass serves it.
    pub windlass: Served,
}

impl ProcessFacts {
    /// The facts about a process that can't be inspected.
    fn unread(pid: u32) -> ProcessFacts {
        ProcessFacts {
            pid,
            start_time: 0,
            uid: proc_files::uid(pid).unwrap_or(u32::MAX),
            exe: executable(pid),
            command: Vec::new(),
            libraries: Vec::new(),
            windlass: Served::Unknown(Unseen::Unread),
        }
    }

    /// The arguments as one line. Not escaped for a terminal.
    pub fn command_line(&self) -> String {
        self.command.join(" ")
    }
}

/// Why a fact about a process is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// The process had ended.
    Gone,
    /// This user may not inspect it (ptrace(2), "Ptrace access mode checking").
    Forbidden,
    /// It is too large to be searched, or makes the reader wait.
    Unread,
}

/// The start time and the executable: together they distinguish a process from all others, from a later one with the
/// same number, and from itself before an `execve`. Fast enough to be read on each event.
pub fn identity(pid: u32) -> Option<(u64, Option<PathBuf>)> {
    Some((proc_files::Stat::read(pid)?.start_time, executable(pid)))
}

/// The facts about all processes, sorted by process id, without kernel threads.
pub fn all(budget: Budget) -> impl Iterator<Item = ProcessFacts> {
    let mut executables = Executables::with(budget);
    let mut patience = Patience::default();
    pids().into_iter().filter_map(move |pid| match patience.capture(pid) {
        Ok(capture) => {
            capture.filter(|capture| !capture.is_kernel_thread()).map(|capture| capture.facts(&mut executables))
        }
        Err(_) => Some(ProcessFacts::unread(pid)),
    })
}
