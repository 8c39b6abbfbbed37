//! The parent process of `run --stats`: it waits for the program, and is otherwise invisible.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, WaitStatus, wait as wait_any, waitid};

use super::signals::{Received, Signals, die_of};
use super::start::Invocation;

/// How long a child must have been stopped before this process stops too. SIGCONT reaches the members of a process
/// group one after the other, and this process may run a moment before the child does.
const SETTLING: Duration = Duration::from_millis(50);

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit status.
    Exited(u8),
    /// By a signal.
    Killed(i32),
}

impl Ending {
    /// The exit status and the signal, of which exactly one is there.
    pub fn parts(self) -> (Option<u8>, Option<i32>) {
        match self {
            Ending::Exited(status) => (Some(status), None),
            Ending::Killed(signal) => (None, Some(signal)),
        }
    }

    /// Ends this process in the same way.
    pub fn repeat(self) -> ExitCode {
        match self {
            Ending::Exited(status) => ExitCode::from(status),
            Ending::Killed(signal) => die_of(signal),
        }
    }
}

/// Starts the program, forwards the signals that this process receives, and waits for the end.
///
/// The outer error is from starting the program, the inner one from waiting for it.
pub fn run(invocation: &Invocation) -> io::Result<io::Result<Ending>> {
    crate::inherited::keep_status_of_children()?;
    // Blocked before the start: no signal can be lost between the start and the first wait.
    let signals = Signals::block()?;
    let child = invocation.spawn(signals.mask_before())?;
    Ok(wait(&signals, child))
}

/// Whether a signal that ends commands arrived while the program ran, whatever the program did about it.
pub fn was_told_to_end() -> bool {
    TOLD_TO_END.load(Ordering::Relaxed)
}

static TOLD_TO_END: AtomicBool = AtomicBool::new(false);

fn wait(signals: &Signals, child: Pid) -> io::Result<Ending> {
    loop {
        let received = signals.next()?;
        if received.is_about_children() {
            if let Some(ending) = reap(child)? {
                return Ok(ending);
            }
        } else {
            if received.asks_to_end() {
                TOLD_TO_END.store(true, Ordering::Relaxed);
            }
            forward(&received, child);
        }
    }
}

fn forward(received: &Received, child: Pid) {
    if let Some(signal) = received.to_forward(child) {
        // The child has not been waited for, and therefore its number is still its own. A child that changed its user
        // may refuse.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.as_raw_nonzero().get()), signal);
    }
}

/// Handles state changes of children. Children other than `child` are orphans of its descendants (this process may be
/// the first of a container), or were left by the program that this one replaced: waiting removes them.
fn reap(child: Pid) -> io::Result<Option<Ending>> {
    let mut ending = None;
    loop {
        // In any process group: `timeout` and `setsid` leave ours.
        match wait_any(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if pid == child => {
                if let Some(signal) = status.stopping_signal() {
                    follow_stop(child, signal)?;
                }
                ending = ending_of(status).or(ending);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(ending),
            Err(Errno::CHILD) if ending.is_some() => return Ok(ending),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn ending_of(status: WaitStatus) -> Option<Ending> {
    let exited = status.exit_status().map(|status| Ending::Exited(status as u8));
    exited.or_else(|| status.terminating_signal().map(Ending::Killed))
}

/// A shell that waits for its job sees only this process, which must therefore stop when the child does: otherwise
/// Ctrl-Z, or an editor that suspends itself, would leave a terminal that nobody reads. SIGSTOP away from the terminal
/// is different: a sender that stopped the child alone will continue the child alone, and a stopped parent would never
/// see the end.
fn follow_stop(child: Pid, signal: i32) -> io::Result<()> {
    let by_terminal = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU].iter().any(|each| *each as i32 == signal);
    if !by_terminal && !is_foreground() {
        return Ok(());
    }
    std::thread::sleep(SETTLING);
    // Peek only: `reap` must still find the end.
    let news = WaitIdOptions::EXITED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::Pid(child), news)?.is_none() {
        nix::sys::signal::raise(Signal::SIGSTOP)?;
    }
    Ok(())
}

/// In a pid namespace, the process group and the foreground group may both have been made outside of it: both are 0
/// then, and can't be told apart.
fn is_foreground() -> bool {
    let group = Pid::from_raw(nix::unistd::getpgrp().as_raw());
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| rustix::termios::tcgetpgrp(terminal).is_ok_and(|pid| Some(pid) == group))
}
