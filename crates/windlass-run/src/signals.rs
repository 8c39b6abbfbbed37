//! The signals that the parent of `run --stats` receives.
//!
//! They are blocked and read from a descriptor: no handler runs, nothing is interrupted, and the program inherits the
//! dispositions that this process was given.

use std::io;
use std::process::ExitCode;

use nix::libc::{SI_USER, SIGHUP, signalfd_siginfo};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::Pid;

/// Faults of this process itself. They are synchronous; if they were blocked, the kernel would kill the process
/// nevertheless.
const OWN: [Signal; 7] =
    [Signal::SIGILL, Signal::SIGTRAP, Signal::SIGABRT, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGSEGV, Signal::SIGSYS];

/// The signals sent to this process, from the creation of this value on.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    mask_before: SigSet,
}

impl Signals {
    /// Blocks all signals except those of the process's own faults. SIGPIPE is unchanged: the error of a write says
    /// more.
    pub fn block() -> io::Result<Signals> {
        let mut set = SigSet::all();
        for signal in OWN {
            set.remove(signal);
        }
        set.remove(Signal::SIGPIPE);
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?;
        let mask_before = set.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        Ok(Signals { descriptor, mask_before })
    }

    /// The signal mask to start a child with.
    pub fn mask_before(&self) -> &SigSet {
        &self.mask_before
    }

    /// Waits for the next signal.
    pub fn next(&self) -> io::Result<Received> {
        loop {
            match self.descriptor.read_signal() {
                Ok(Some(information)) => return Ok(Received(information)),
                Ok(None) | Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// One signal sent to this process.
#[derive(Debug)]
pub struct Received(signalfd_siginfo);

impl Received {
    /// Whether a child stopped, continued or ended.
    pub fn is_about_children(&self) -> bool {
        self.signal() == Some(Signal::SIGCHLD)
    }

    /// Whether people or supervisors use this signal to end a command.
    pub fn asks_to_end(&self) -> bool {
        matches!(self.signal(), Some(Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM))
    }

    /// The signal to forward to `child`; None if there is nothing to forward.
    ///
    /// The terminal's signals (SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, ...) come from the kernel and go to the whole
    /// foreground process group, and thus to the child too. Only a hangup goes to the session leader alone
    /// (`tty_signal_session_leader` in Linux's tty_jobctrl.c). Signals that the child itself sends to its group, as
    /// editors do to suspend themselves, must not reach it twice. All others came from another process with kill(2).
    pub fn to_forward(&self, child: Pid) -> Option<Signal> {
        let sent_by_process = self.0.ssi_code <= SI_USER;
        let hangup = self.0.ssi_signo == SIGHUP as u32 && is_session_leader();
        let sent_by_child = self.0.ssi_pid == child.as_raw_nonzero().get() as u32;
        self.signal().filter(|_| (sent_by_process || hangup) && !sent_by_child)
    }

    /// `None` for real-time signals.
    fn signal(&self) -> Option<Signal> {
        i32::try_from(self.0.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok())
    }
}

/// The session may have been started outside this pid namespace (`docker exec`, `unshare --pid`): its number is then 0,
/// which nix passes on and rustix's `Pid` can't hold.
fn is_session_leader() -> bool {
    nix::unistd::getsid(None) == Ok(nix::unistd::getpid())
}

/// Ends this process with the signal that ended the child: a waiting process sees the same end.
pub fn die_of(signal: i32) -> ExitCode {
    // The child's core dump is the one that matters; a second one could overwrite it.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // The kernel drops signals with a default action for the first process of a pid namespace.
    if rustix::process::getpid() != Pid::INIT {
        let _ = SigSet::empty().thread_set_mask();
        if signal_hook::low_level::emulate_default_handler(signal).is_err() {
            let _ = signal_hook::low_level::raise(signal);
        }
    }
    // The exit status that shells give a command ended by a signal.
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
