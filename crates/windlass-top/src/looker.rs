//! Captures processes in a thread of its own: a process can make its reader wait, while the worker must go on counting.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use windlass_machine::processes::Patience;

use super::who::Who;
use super::worker::State;

/// The most processes waiting to be captured. One that finds no room is captured at its next open.
const QUEUE: usize = 1024;

/// Starts the thread. It ends when the sender is dropped, after handling everything that was sent.
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
