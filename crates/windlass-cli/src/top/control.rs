//! What can end or change the showing: time, signals, keys.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The signals that are read instead of acted upon, from the time this was made.
#[derive(Debug)]
pub struct Control {
    signals: SignalFd,
    /// Whether standard input has keys.
    pub keys: bool,
}

/// What happened first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The time is up.
    Time,
    /// The user wants an end, or the terminal is gone.
    End,
    /// The terminal has another size.
    Resize,
    /// The shell wants it to stop for a while (Ctrl-Z).
    Suspend,
    /// A key.
    Key(u8),
}

impl Control {
    /// Blocks the signals. Threads have to be started after this, so that they block them as well.
    pub fn new() -> io::Result<Control> {
        let mut set = SigSet::empty();
        for signal in
            [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGWINCH, Signal::SIGTSTP]
        {
            set.add(signal);
        }
        set.thread_block()?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Control { signals, keys: false })
    }

    /// Waits for the first of them.
    pub fn wait(&mut self, until: Option<Instant>) -> Happened {
        loop {
            if let Some(happened) = self.signal() {
                return happened;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Happened::Time;
            }
            let input = io::stdin();
            let mut descriptors = vec![PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN)];
            if self.keys {
                descriptors.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN));
            }
            // A time that has no room in a timespec is as good as none.
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            if poll(&mut descriptors, timeout.as_ref()).is_err_and(|errno| errno != rustix::io::Errno::INTR) {
                return Happened::End;
            }
            let has_key = descriptors.get(1).is_some_and(|input| !input.revents().is_empty());
            if has_key {
                let mut key = [0];
                match rustix::io::read(&input, &mut key) {
                    Ok(1) => return Happened::Key(key[0]),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    // Nothing will come any more; signals still do.
                    _ => self.keys = false,
                }
            }
        }
    }

    fn signal(&self) -> Option<Happened> {
        let information = self.signals.read_signal().ok()??;
        let signal = i32::try_from(information.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok());
        Some(match signal {
            Some(Signal::SIGWINCH) => Happened::Resize,
            Some(Signal::SIGTSTP) => Happened::Suspend,
            _ => Happened::End,
        })
    }
}

/// Stops this process, as Ctrl-Z does, until it is continued.
pub fn suspend() {
    let _ = nix::sys::signal::raise(Signal::SIGSTOP);
}
