//! The process behind an event, identified by the data available at that moment.

use std::path::PathBuf;

use windlass_machine::processes::{self, Container, ExecutableId};

use super::descriptor::Descriptor;

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// One process, until it starts another program.
    Process { pid: u32, start_time: u64, exe: Option<PathBuf> },
    /// Former processes with a row, grouped by program.
    Former { exe: Option<PathBuf> },
    /// Former processes of programs beyond the limit.
    Others,
    /// Processes that had ended before anything except their ids was known.
    TooSoon,
    /// Processes of another pid namespace, which have no id here.
    Outside,
}

/// The kernel's data about the process that opened a file.
#[derive(Debug)]
pub struct Opener {
    /// The process id; 0 if the process is not in this pid namespace.
    pub pid: u32,
    /// A pidfd, which identifies the process permanently, if the kernel provides one.
    pub process: Option<Descriptor>,
    /// Whether the kernel provides pidfds. If it does, and there is none here, the process had ended.
    pub has_pidfd: bool,
}

/// The process as identified at once.
#[derive(Debug)]
pub struct Seen {
    /// The process id; 0 if the process has none here.
    pub pid: u32,
    /// `None`: the process could no longer be seen.
    pub who: Option<Who>,
    /// Whether it is Windlass's own command.
    pub is_own: bool,
    /// Its container, if that was asked for.
    pub container: Container,
}

impl Opener {
    /// Identifies the process, and its container if `needs_container` says so. Nothing here waits for it.
    pub fn look(&self, own: Option<ExecutableId>, needs_container: impl FnOnce(&Who) -> bool) -> Seen {
        let pid = self.pid;
        if pid == 0 {
            return Seen { pid, who: Some(Who::Outside), is_own: false, container: Container::default() };
        }
        let found = processes::identity(pid).map(|(start_time, exe)| Who::Process { pid, start_time, exe });
        // Not by the path alone: anybody can give a file of their own that name.
        let is_own = own.is_some() && ExecutableId::of(pid) == own;
        let container = found.as_ref().filter(|who| needs_container(who)).map(|_| Container::of(pid));
        // Checked only now: if the process still exists, the data that was read is its own.
        let is_there = match &self.process {
            Some(process) => process.names_a_process(),
            None => !self.has_pidfd,
        };
        let who = found.filter(|who| is_there && !is_zombie(who));
        let container = container.filter(|_| who.is_some()).unwrap_or_default();
        Seen { pid, is_own: is_own && who.is_some(), who, container }
    }
}

/// An ended process has no executable any more, and a kernel thread has none; nothing was learned about it.
fn is_zombie(who: &Who) -> bool {
    matches!(who, Who::Process { exe: None, .. })
}
