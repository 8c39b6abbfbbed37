//! What can end or change the showing: time, signals, keys.
//!
//! The signals that end it are taken by a thread of its own. So they end it also while the main thread waits for a file
//! server, or for a process that makes whoever looks at it wait: at once before anything is counted, then with the
//! second one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::screen;

/// The second signal counts if it comes later than this: timeout(1) sends each twice, to the process and to its group.
const TWICE: Duration = Duration::from_secs(1);

/// The signals that are read instead of acted upon, from the time this was made.
#[derive(Debug)]
pub struct Control {
    signals: SignalFd,
    end: Arc<OwnedFd>,
    has_begun: Arc<AtomicBool>,
    /// Whether standard input has keys.
    pub keys: bool,
}

/// The first event of a wait.
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
        let shown: SigSet = [Signal::SIGWINCH, Signal::SIGTSTP].into_iter().collect();
        let ending: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect();
        shown.thread_block()?;
        ending.thread_block()?;
        let signals = SignalFd::with_flags(&shown, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let has_begun = Arc::new(AtomicBool::new(false));
        let (told, begun) = (Arc::clone(&end), Arc::clone(&has_begun));
        std::thread::spawn(move || listen(ending, &told, &begun));
        Ok(Control { signals, end, has_begun, keys: false })
    }

    /// From now on there is something to be shown at the end.
    pub fn begin(&self) {
        self.has_begun.store(true, Ordering::SeqCst);
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
            let mut descriptors = vec![
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                PollFd::new(&self.end, PollFlags::IN),
            ];
            if self.keys {
                descriptors.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN));
            }
            // A time that has no room in a timespec is as good as none.
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            if poll(&mut descriptors, timeout.as_ref()).is_err_and(|errno| errno != rustix::io::Errno::INTR) {
                return Happened::End;
            }
            let has_key = descriptors.get(2).is_some_and(|input| !input.revents().is_empty());
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
        if rustix::io::read(&self.end, &mut [0; 8]).is_ok() {
            return Some(Happened::End);
        }
        let information = self.signals.read_signal().ok()??;
        let is_suspend = i32::try_from(information.ssi_signo) == Ok(Signal::SIGTSTP as i32);
        Some(if is_suspend { Happened::Suspend } else { Happened::Resize })
    }
}

/// Takes the signals that end this.
fn listen(ending: SigSet, end: &OwnedFd, has_begun: &AtomicBool) {
    let mut first = None;
    loop {
        let Ok(signal) = ending.wait() else { continue };
        let is_second = first.is_some_and(|first: Instant| first.elapsed() > TWICE);
        if is_second || !has_begun.load(Ordering::SeqCst) {
            screen::leave();
            // Nothing handles it, so it ends this process as soon as a thread does not block it.
            let _ = nix::sys::signal::raise(signal);
            let _ = ending.thread_unblock();
            // Unless it is ignored, as in what a shell without job control starts in the background.
            std::process::exit(128 + signal as i32);
        }
        first.get_or_insert_with(Instant::now);
        let _ = rustix::io::write(end, &1_u64.to_ne_bytes());
    }
}

/// Stops this process, as Ctrl-Z does, until it is continued.
pub fn suspend() {
    let _ = nix::sys::signal::raise(Signal::SIGSTOP);
}
