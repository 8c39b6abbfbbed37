//! Takes events from the kernel as soon as they come.
//!
//! The kernel makes one event of those that are equal and still wait: same process, same file. So nothing is done here but to take
//! them; programs open a bundle again only after they have parsed it, which takes longer than the way from the kernel to here.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Stat;

use super::ledger::Opener;
use super::marks::{Event, Marks};

/// What the worker has to do.
#[derive(Debug)]
pub enum Message {
    /// Count this.
    Opened(Opener, Stat),
    /// Note that events were lost.
    Overflow,
    /// Look at the sources: something changed beside one.
    Changed,
    /// That was all.
    End,
}

/// Reads until it is told to stop, and then what is still there.
pub fn run(marks: &Arc<Marks>, changes: Option<&OwnedFd>, stop: &OwnedFd, to: &SyncSender<Message>) {
    let own = std::process::id();
    loop {
        let mut descriptors =
            vec![PollFd::new(stop, PollFlags::IN), PollFd::from_borrowed_fd(marks.as_fd(), PollFlags::IN)];
        descriptors.extend(changes.map(|changes| PollFd::new(changes, PollFlags::IN)));
        let waited = poll(&mut descriptors, None);
        if waited.is_err_and(|errno| errno != rustix::io::Errno::INTR) {
            break;
        }
        let is_ready = |place: usize| descriptors.get(place).is_some_and(|found| !found.revents().is_empty());
        let (is_last, changed) = (is_ready(0), is_ready(2));
        if changed && drain(changes) && to.send(Message::Changed).is_err() {
            return;
        }
        loop {
            let Ok(events) = marks.read() else { return };
            if events.is_empty() {
                break;
            }
            for event in events {
                let message = match event {
                    Event::Overflow => Message::Overflow,
                    Event::Open { pid, .. } if pid == own => continue,
                    Event::Open { pid, process, has_pidfd, file } => match file.stat() {
                        Some(stat) => Message::Opened(Opener { pid, process, has_pidfd }, stat),
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

/// What exactly changed does not matter.
fn drain(changes: Option<&OwnedFd>) -> bool {
    let mut buffer = [0; 4096];
    let mut any = false;
    while changes.is_some_and(|changes| rustix::io::read(changes, &mut buffer).is_ok_and(|length| length > 0)) {
        any = true;
    }
    any
}
