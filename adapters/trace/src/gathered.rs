//! Certificates that a program adds to a store one by one: one event for all of them.

use windlass_interpose::hook;
use windlass_interpose::ptr_table::PtrTable;

use crate::clock::{Overhead, Stopwatch, Took};
use crate::json::Line;
use crate::span::Subject;
use crate::{clock, process, script, sink, stack, stores};

static GATHERED: PtrTable<Pending> = PtrTable::new();

#[derive(Clone, Copy)]
struct Pending(*mut Additions);

struct Additions {
    store: usize,
    /// A forked child leaves to its parent what the parent has gathered.
    process: u32,
    thread: i64,
    t: u64,
    wall: u64,
    cpu: u64,
    calls: i64,
    result: i64,
    held: Option<i64>,
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
    /// Before the original.
    pub fn begin<S: Subject>(store: usize, subject: impl FnOnce() -> Option<S>) -> Addition {
        let overhead = Overhead::begin();
        let known = hook::shielded(|| {
            let id = process::current().id;
            // SAFETY: entries are freed after they were removed, which waits for the end of `with`.
            let of = GATHERED.with(store, |Pending(additions)| unsafe { (*additions).process });
            if of == Some(id) {
                return Some(());
            }
            let subject = subject()?;
            let additions = Additions {
                store,
                process: id,
                thread: process::thread(),
                t: clock::now(),
                wall: 0,
                cpu: 0,
                calls: 0,
                result: 0,
                held: subject.held(),
                library: subject.library().to_owned(),
                stack: stack::native(),
                script: script::frames(),
            };
            // What was there is the parent's, and shared with it only by its address. It stays allocated.
            GATHERED.insert(store, Pending(Box::into_raw(Box::new(additions))));
            Some(())
        });
        Addition { watch: known.map(|()| Stopwatch::start(overhead)), store }
    }

    /// After it.
    pub fn end(self, result: i64) {
        let Some(watch) = self.watch else { return };
        let (Took { wall, cpu, .. }, overhead) = watch.stop();
        hook::shielded(|| {
            GATHERED.with(self.store, |Pending(additions)| {
                // SAFETY: as in `begin`; the table's lock is held, so no other thread changes it.
                let additions = unsafe { &mut *additions };
                additions.wall += wall;
                additions.cpu += cpu;
                additions.calls += 1;
                additions.result = result;
            })
        });
        drop(overhead);
    }
}

/// Writes what was gathered for a store. `held`: what it holds now, if it may be asked.
pub fn flush(store: usize, held: impl FnOnce() -> Option<i64>) {
    let Some(Pending(additions)) = GATHERED.remove(store) else { return };
    // SAFETY: made by Box::into_raw in `begin`, and no longer in the table.
    let additions = unsafe { Box::from_raw(additions) };
    if additions.process != process::current().id || additions.calls == 0 {
        return;
    }
    let mut line = Line::new("load");
    line.number("pid", additions.process).number("tid", additions.thread);
    line.number("t", additions.t).number("wall", additions.wall).number("cpu", additions.cpu);
    line.number("process_cpu", clock::process_cpu());
    line.text("entry", b"X509_STORE_add_cert").number("depth", 0).number("calls", additions.calls);
    line.path("library", additions.library.as_bytes()).raw("sources", "[{\"kind\":\"memory\",\"path\":null}]");
    line.number("result", additions.result);
    line.known("certificates", additions.held.zip(held()).map(|(before, now)| now - before));
    line.number("parsed", additions.calls).raw("memory", "null").address("store", Some(store));
    line.raw("stack", &additions.stack).raw("script", &additions.script);
    stores::loaded(store);
    sink::append(&line.finish());
}

/// Writes all that was gathered. The stores may be gone, so they are not asked.
pub fn flush_all() {
    let mut stores = Vec::new();
    // SAFETY: as in `Addition::begin`.
    GATHERED.for_each(|Pending(additions)| stores.push(unsafe { (*additions).store }));
    for store in stores {
        flush(store, || None);
    }
}
