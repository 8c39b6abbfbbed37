//! Measured runs that can be stopped: the findings up to then are still reported.

use std::io;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use windlass_run::inherited;
use windlass_run::start::Invocation;

/// The signals by which people and supervisors end a command.
const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// Holds back the signals that end this process, while it lives.
#[derive(Debug)]
pub struct Interrupts {
    descriptor: SignalFd,
    before: SigSet,
    stopped: Option<Signal>,
}

impl Interrupts {
    /// From now on the signals are held back. Those that were ignored (nohup) or blocked end nothing, as before.
    pub fn block() -> io::Result<Interrupts> {
        let before = SigSet::thread_get_mask()?;
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        let is_meant = |signal: &Signal| !inherited::was_ignored(*signal as i32) && !before.contains(*signal);
        ENDING.into_iter().filter(is_meant).for_each(|signal| set.add(signal));
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        set.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        Ok(Interrupts { descriptor, before, stopped: None })
    }

    /// The signal that told this process to end, if one arrived.
    pub fn stopped(&mut self) -> Option<Signal> {
        while let Ok(Some(information)) = self.descriptor.read_signal() {
            self.note(information.ssi_signo);
        }
        self.stopped
    }

    /// Runs a process to its end. A signal sent to this process alone is forwarded to it; the terminal's signals go to
    /// both.
    pub fn run(&mut self, invocation: &Invocation) -> io::Result<WaitStatus> {
        let child = invocation.spawn(&self.before)?;
        loop {
            let Some(information) = self.descriptor.read_signal()? else {
                match poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], None) {
                    Ok(_) | Err(Errno::INTR) => continue,
                    Err(errno) => return Err(errno.into()),
                }
            };
            if let Some(signal) = self.note(information.ssi_signo)
                && information.ssi_code <= nix::libc::SI_USER
            {
                // It has not been waited for, and therefore its number is still its own.
                let _ = kill(unistd::Pid::from_raw(child.as_raw_nonzero().get()), signal);
            }
            if let Some(status) = ended(child)? {
                return Ok(status);
            }
        }
    }

    fn note(&mut self, number: u32) -> Option<Signal> {
        let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok());
        let signal = signal.filter(|signal| *signal != Signal::SIGCHLD)?;
        self.stopped = Some(signal);
        Some(signal)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}

fn ended(child: Pid) -> io::Result<Option<WaitStatus>> {
    loop {
        match waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(ended) => return Ok(ended.map(|(_, status)| status)),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
