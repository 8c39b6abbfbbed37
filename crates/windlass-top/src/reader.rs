//! Takes events from the kernel as soon as they come.
//!
//! The kernel merges waiting events that are equal: same process, same file. Therefore this thread does nothing else;
//! programs open a bundle again only after they have parsed it, which takes longer than the delivery of an event.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use nix::errno::Errno;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Stat;

use super::marks::{Event, Marks};
use super::who::Opener;

/// The number of consecutive failures after which the reader gives up.
const FAILURES: usize = 100_000;

/// A message for the worker.
#[derive(Debug)]
pub enum Message {
    /// A file was opened. The time is missing if it is closed already.
    Opened(Opener, Stat, Option<Instant>),
    /// A file was closed by this process.
    Closed(u32, Stat, Instant),
    /// Note that events were lost.
    Overflow,
    /// Note that an event could not be read.
    Failed(Errno),
    /// Refresh the sources: something changed in the directory of one.
    Changed,
    /// No more events will come.
    End,
}

/// Reads until it is told to stop, and then takes the remaining events.
pub fn run(marks: &Arc<Marks>, changes: Option<&OwnedFd>, stop: &OwnedFd, to: &SyncSender<Message>) {
    let own = std::process::id();
    let mut failures = 0;
    'all: loop {
        let mut descriptors =
            vec![PollFd::new(stop, PollFlags::IN), PollFd::from_borrowed_fd(marks.as_fd(), PollFlags::IN)];
        descriptors.extend(changes.map(|changes| PollFd::new(changes, PollFlags::IN)));
        let waited = poll(&mut descriptors, None);
        if let Some(errno) = waited.err().filter(|errno| *errno != rustix::io::Errno::INTR) {
            let _ = to.send(Message::Failed(Errno::from_raw(errno.raw_os_error())));
            break;
        }
        let is_ready = |place: usize| descriptors.get(place).is_some_and(|found| !found.revents().is_empty());
        let (is_last, changed) = (is_ready(0), is_ready(2));
        if changed && drain(changes) && to.send(Message::Changed).is_err() {
            return;
        }
        loop {
            let events = match marks.read() {
                Ok(events) => events,
                // The kernel has dropped the event for which it had no descriptor (fanotify(7)).
                Err(Errno::EMFILE | Errno::ENFILE) => vec![Event::Overflow],
                // The kernel has also dropped an event whose file it could not open. A stranger may have caused that,
                // and therefore reading goes on.
                Err(errno) => {
                    failures += 1;
                    if to.send(Message::Failed(errno)).is_err() {
                        return;
                    }
                    if failures < FAILURES {
                        continue;
                    }
                    break 'all;
                }
            };
            if events.is_empty() {
                break;
            }
            failures = 0;
            let now = Instant::now();
            for event in events {
                let message = match event {
                    Event::Overflow => Message::Overflow,
                    Event::Open(opener, ..) | Event::Close(opener, _) if opener.pid == own => continue,
                    Event::Open(opener, file, is_closed) => match file.stat() {
                        Some(stat) => Message::Opened(opener, stat, (!is_closed).then_some(now)),
                        None => continue,
                    },
                    Event::Close(opener, file) => match file.stat() {
                        Some(stat) => Message::Closed(opener.pid, stat, now),
                        None => continue,
                    },
                };
                if to.send(message).is_err() {
                    return;
                }
            }
        }
        if is_last {
            break;
        }
    }
    let _ = to.send(Message::End);
}

/// Discards the change records: their details do not matter.
fn drain(changes: Option<&OwnedFd>) -> bool {
    let mut buffer = [0; 4096];
    let mut any = false;
    while changes.is_some_and(|changes| rustix::io::read(changes, &mut buffer).is_ok_and(|length| length > 0)) {
        any = true;
    }
    any
}
