//! Who it is that opened something: what is to be seen of a process at the moment of its event.

use std::path::PathBuf;

use windlass_machine::processes::{self, ExecutableId};

use super::descriptor::Descriptor;

/// Who a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// One process, until it starts another program.
    Process { pid: u32, start_time: u64, exe: Option<PathBuf> },
    /// Processes that had a row, by their program.
    Former { exe: Option<PathBuf> },
    /// Those of still more programs.
    Others,
    /// Processes that had ended before anything was known of them but their numbers.
    TooSoon,
    /// Processes of another pid namespace, which have no number here.
    Outside,
}

/// An open, and what the kernel says of who did it.
#[derive(Debug)]
pub struct Opener {
    /// The number of the process; 0 if it has none here.
    pub pid: u32,
    /// What names the process for good.
    pub process: Option<Descriptor>,
    /// Whether the kernel gives that at all.
    pub has_pidfd: bool,
}

/// What was seen of it at once.
#[derive(Debug)]
pub struct Seen {
    /// The number of the process; 0 if it has none here.
    pub pid: u32,
    /// `None`: nothing was to be seen any more.
    pub who: Option<Who>,
    /// It is Windlass' own command.
    pub is_own: bool,
}

impl Opener {
    /// Looks who it is. Nothing in it waits for that process.
    pub fn look(&self, own: Option<ExecutableId>) -> Seen {
        let pid = self.pid;
        if pid == 0 {
            return Seen { pid, who: Some(Who::Outside), is_own: false };
        }
        let found = processes::identity(pid).map(|(start_time, exe)| Who::Process { pid, start_time, exe });
        // Not by the path alone: anybody can have a file of that name in a place of his own.
        let is_own = own.is_some() && ExecutableId::of(pid) == own;
        // Only now: what was read is of the process that opened, if that is still there.
        let is_there = match &self.process {
            Some(process) => process.names_a_process(),
            None => !self.has_pidfd,
        };
        let who = found.filter(|who| is_there && !is_zombie(who));
        Seen { pid, is_own: is_own && who.is_some(), who }
    }
}

/// A process that has ended has no executable any more, nor has a kernel thread; nothing was learned from looking at
/// it.
fn is_zombie(who: &Who) -> bool {
    matches!(who, Who::Process { exe: None, .. })
}
