//! Captures processes behind the worker's back: a process can keep waiting who looks at it, and others are to be
//! counted meanwhile.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use windlass_machine::processes::Patience;

use super::who::Who;
use super::worker::State;

/// Processes that wait to be looked at. One that finds no room is looked at with its next open.
const QUEUE: usize = 1024;

/// Starts the thread. It ends when the sender is dropped, with all that was sent.
pub fn start(state: Arc<Mutex<State>>) -> (SyncSender<Who>, JoinHandle<()>) {
    let (to, from) = sync_channel::<Who>(QUEUE);
    let thread = std::thread::spawn(move || {
        let mut patience = Patience::default();
        for who in from {
            let Who::Process { pid, .. } = who else { continue };
            let capture = patience.capture(pid);
            let ledger = &mut state.lock().unwrap_or_else(PoisonError::into_inner).ledger;
            match capture {
                Ok(Some(capture)) => ledger.captured(&who, capture),
                Ok(None) => {}
                Err(_) => ledger.unread(&who),
            }
        }
    });
    (to, thread)
}
