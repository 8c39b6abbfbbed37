//! What a running process is: its program, its TLS libraries, and whether Windlass is in it.
//!
//! All of it is read from `/proc`, in two steps. A [`Capture`] takes what goes away with the process, and is quick. Its
//! [`Capture::facts`] look into the executable and the libraries, which may be large, and remember what they found in
//! [`Executables`].
//!
//! A process is a stranger: names, arguments and files are whatever it made them. Reads are bounded, nothing but
//! regular files is opened, and what is shown has to go through [`crate::printable::printable`].

mod budget;
mod capture;
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
pub use executables::{Executables, open_regular};
pub use libraries::{TlsKind, TlsLibrary};
pub use patience::Patience;
pub use proc_files::{pids, uid};
pub use served::{Reason, Served};

/// One process, as `/proc` showed it at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did. With `pid` it names a process for good.
    pub start_time: u64,
    /// Its effective user.
    pub uid: u32,
    /// Its executable, as the process itself would name it; `None` for a kernel thread, or where this user may not see
    /// it.
    pub exe: Option<PathBuf>,
    /// Its arguments, the program's name first; its name as the kernel knows it where it has none.
    pub command: Vec<String>,
    /// The TLS libraries that are mapped, or linked into the executable.
    pub libraries: Vec<TlsLibrary>,
    /// Whether Windlass serves it.
    pub windlass: Served,
}

impl ProcessFacts {
    /// A process that does not let itself be looked into.
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

    /// The arguments as one line. Not yet fit for a terminal.
    pub fn command_line(&self) -> String {
        self.command.join(" ")
    }
}

/// Something that was known of a process, or why it could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// It had ended.
    Gone,
    /// This user may not look into it (ptrace(2), "Ptrace access mode checking").
    Forbidden,
    /// It is too large to be searched, or makes whoever looks wait.
    Unread,
}

/// What tells a process from others, also from a later one of the same number, and from itself before an `execve`: when
/// it started, and its executable. Quick enough to be asked at each event.
pub fn identity(pid: u32) -> Option<(u64, Option<PathBuf>)> {
    Some((proc_files::Stat::read(pid)?.start_time, executable(pid)))
}

/// The facts of all processes, in the order of their numbers, without kernel threads.
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
