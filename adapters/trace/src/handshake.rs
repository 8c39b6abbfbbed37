//! Connections: the first successful handshake of a session, which may take several calls.

use std::cell::Cell;

use windlass_interpose::hook;
use windlass_interpose::ptr_table::PtrTable;

use crate::clock::{Overhead, Stopwatch};
use crate::json::Line;
use crate::{process, settings, sink};

static SESSIONS: PtrTable<Progress> = PtrTable::new();

/// The time that a session's handshake has taken so far.
#[derive(Clone, Copy, Default)]
struct Progress {
    t: u64,
    wall: u64,
    cpu: u64,
    done: bool,
}

thread_local! {
    /// The session whose handshake this thread is in (`SSL_connect` calls `SSL_do_handshake`). A flag is not enough:
    /// Crystal switches to another fiber of the same thread while OpenSSL waits for data.
    static SHAKING: Cell<usize> = const { Cell::new(0) };
}

/// A call that continues a handshake.
pub struct Step {
    watch: Option<Stopwatch>,
    session: usize,
    /// Set if the library itself reports the end of a handshake, so that it need not be remembered here.
    is_told: bool,
}

impl Step {
    /// Call this before the original. `is_over`: whether the session has no handshake to do, if the library can be
    /// asked.
    pub fn begin(session: usize, is_over: impl FnOnce() -> Option<bool>) -> Step {
        let mut step = Step { watch: None, session, is_told: false };
        if session == 0 || !settings::enabled() || hook::is_inside() || SHAKING.get() == session {
            return step;
        }
        let overhead = Overhead::begin();
        let over = hook::shielded(|| {
            let told = is_over();
            step.is_told = told.is_some();
            Some(told.unwrap_or_else(|| SESSIONS.get(session).is_some_and(|known| known.done)))
        });
        if over == Some(false) {
            step.watch = Some(Stopwatch::start(overhead));
            SHAKING.set(session);
        }
        step
    }

    /// Call this after the original.
    pub fn end(self, succeeded: bool) {
        let Some(watch) = self.watch else { return };
        let (took, overhead) = watch.stop();
        hook::shielded(|| {
            let before = SESSIONS.get(self.session).unwrap_or(Progress { t: took.t, ..Progress::default() });
            let progress =
                Progress { t: before.t, wall: before.wall + took.wall, cpu: before.cpu + took.cpu, done: succeeded };
            if succeeded && self.is_told {
                SESSIONS.remove(self.session);
            } else {
                SESSIONS.insert(self.session, progress);
            }
            if succeeded {
                let process = process::current();
                let mut line = Line::of("connection", &process.id);
                line.number("tid", process::thread());
                line.number("t", progress.t).number("wall", progress.wall).number("cpu", progress.cpu);
                sink::append(&process.id, &line.finish());
            }
            Some(())
        });
        drop(overhead);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if self.watch.is_some() {
            SHAKING.set(0);
        }
    }
}

/// Call this when the session ends, or starts anew.
pub fn forget(session: usize) {
    if session != 0 && settings::enabled() && !hook::is_inside() {
        hook::shielded(|| SESSIONS.remove(session));
    }
}
