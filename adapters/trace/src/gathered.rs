//! Certificates that a program adds to a store one by one, recorded in few events.

use std::mem;
use std::ptr;
use std::sync::Arc;

use windlass_interpose::hook;
use windlass_interpose::ptr_table::PtrTable;

use crate::clock::{Overhead, Stopwatch, Took};
use crate::json::Line;
use crate::process::{self, Process};
use crate::source::{Source, Subject, listed};
use crate::{clock, script, sink, stack, stores};

static GATHERED: PtrTable<Pending> = PtrTable::new();

#[derive(Clone, Copy)]
struct Pending(*mut Additions);

// SAFETY: only a value that `with` or `remove` of the table gives to one thread at a time is changed, and any thread
// may free it.
unsafe impl Send for Pending {}

struct Additions {
    head: Arc<Head>,
    /// The number of all calls, and of those that no event has reported yet.
    all: i64,
    calls: i64,
    wall: u64,
    cpu: u64,
    result: i64,
    held: Option<i64>,
}

/// The members that all events of one store's additions share.
struct Head {
    store: usize,
    /// The process that gathers: a forked child leaves its parent's additions to the parent.
    process: &'static Process,
    kind: &'static str,
    thread: i64,
    t: u64,
    library: String,
    stack: String,
    script: String,
}

/// A call of `X509_STORE_add_cert` by the program.
pub struct Addition {
    watch: Option<Stopwatch>,
    store: usize,
}

impl Addition {
    /// Call this before the original. `kind`: the origin of the certificate.
    pub fn begin<S: Subject>(store: usize, kind: &'static str, subject: impl FnOnce() -> Option<S>) -> Addition {
        let overhead = Overhead::begin();
        let known = hook::shielded(|| {
            let process = process::current();
            // SAFETY: entries are freed after their removal, which waits for the end of `with`.
            let of = GATHERED.with(store, |Pending(additions)| unsafe {
                let Additions { head, .. } = &*additions;
                (ptr::eq(head.process, process), head.kind)
            });
            if of == Some((true, kind)) {
                return Some(());
            }
            let subject = subject()?;
            let held = subject.held();
            flush(store, || held);
            let script = script::frames();
            let head = Head {
                store,
                process,
                kind,
                thread: process::thread(),
                t: clock::now(),
                library: subject.library().to_owned(),
                stack: stack::native(script.interpreter),
                script: script.list,
            };
            let additions = Additions { head: Arc::new(head), all: 0, calls: 0, wall: 0, cpu: 0, result: 0, held };
            GATHERED.insert(store, Pending(Box::into_raw(Box::new(additions))));
            Some(())
        });
        Addition { watch: known.map(|()| Stopwatch::start(overhead)), store }
    }

    /// Call this after the original. `held`: the number of certificates in the store now.
    pub fn end(self, result: i64, held: impl FnOnce() -> Option<i64>) {
        let Some(watch) = self.watch else { return };
        let (Took { wall, cpu, .. }, overhead) = watch.stop();
        hook::shielded(|| {
            let all = GATHERED.with(self.store, |Pending(additions)| {
                // SAFETY: as in `begin`; the table's lock is held, so no other thread changes it.
                let additions = unsafe { &mut *additions };
                additions.wall += wall;
                additions.cpu += cpu;
                additions.calls += 1;
                additions.all += 1;
                additions.result = result;
                additions.all
            })?;
            if TOLD_AT.contains(&all) {
                let held = held();
                // SAFETY: as above.
                let due = GATHERED.with(self.store, |Pending(additions)| unsafe { (*additions).take(held) });
                if let Some((due, head)) = due {
                    due.write(&head);
                }
            }
            Some(())
        });
        drop(overhead);
    }
}

/// Additions are reported when their number reaches one of these: the process may end without another event.
const TOLD_AT: [i64; 5] = [1, 16, 256, 4096, 65536];

/// The contents of one event.
struct Due {
    is_first: bool,
    calls: i64,
    wall: u64,
    cpu: u64,
    result: i64,
    certificates: Option<i64>,
}

impl Additions {
    /// The contents of the event that is due now. `held`: the number of certificates in the store now, if it may be
    /// asked.
    fn take(&mut self, held: Option<i64>) -> (Due, Arc<Head>) {
        let due = Due {
            is_first: self.calls == self.all,
            calls: mem::take(&mut self.calls),
            wall: mem::take(&mut self.wall),
            cpu: mem::take(&mut self.cpu),
            result: self.result,
            certificates: self.held.zip(held).map(|(before, now)| now - before),
        };
        self.held = held;
        (due, self.head.clone())
    }
}

impl Due {
    fn write(&self, head: &Head) {
        if self.calls == 0 || !ptr::eq(head.process, process::current()) {
            return;
        }
        let mut line = Line::of("load", &head.process.id);
        line.number("tid", head.thread);
        line.number("t", head.t).number("wall", self.wall).number("cpu", self.cpu);
        line.number("process_cpu", head.process.cpu());
        line.text("entry", b"X509_STORE_add_cert").number("depth", 0).number("calls", self.calls);
        if !self.is_first {
            line.raw("more", "true");
        }
        let source = Source { kind: head.kind, path: None };
        line.path("library", head.library.as_bytes()).raw("sources", &listed(&[source]));
        line.number("result", self.result).known("certificates", self.certificates);
        line.number("parsed", self.calls).raw("memory", "null").address("store", Some(head.store));
        line.raw("stack", &head.stack).raw("script", &head.script);
        stores::loaded(head.store);
        sink::append(&head.process.id, &line.finish());
    }
}

/// Writes the gathered additions of a store. `held`: the number of certificates in it now, if it may be asked.
pub fn flush(store: usize, held: impl FnOnce() -> Option<i64>) {
    let Some(Pending(additions)) = GATHERED.remove(store) else { return };
    // SAFETY: made by Box::into_raw in `begin`, and no longer in the table.
    let mut additions = unsafe { Box::from_raw(additions) };
    if additions.calls > 0 {
        let (due, head) = additions.take(held());
        due.write(&head);
    }
}

/// Writes all gathered additions. The stores may be gone, so they are not asked.
pub fn flush_all() {
    let mut stores = Vec::new();
    // SAFETY: as in `Addition::begin`.
    GATHERED.for_each(|Pending(additions)| stores.push(unsafe { &*additions }.head.store));
    for store in stores {
        flush(store, || None);
    }
}
