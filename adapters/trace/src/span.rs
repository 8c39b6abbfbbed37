//! One call that loads trust anchors, and the loads inside it.

use std::cell::Cell;
use std::ptr;

use windlass_interpose::hook;

use crate::clock::{Overhead, Stopwatch, Took};
use crate::json::Line;
use crate::source::{Source, Subject, listed};
use crate::{gathered, memory, process, script, settings, sink, stack, stores};

/// Room for the lines of nested loads, allocated before the memory in use is measured.
const ROOM: usize = 4096;
/// The most bytes of lines that are kept back: one call may load a directory of thousands of files.
const MOST_KEPT: usize = 256 * 1024;

/// A load in progress. If it is dropped without `end` (the thread was cancelled, or an exception passed), it leaves no
/// event.
pub struct Span<S> {
    subject: Option<S>,
    open: *mut Open,
}

struct Open {
    outer: *mut Open,
    /// A stack address from its beginning.
    at: usize,
    depth: i64,
    watch: Option<Stopwatch>,
    memory: Option<i64>,
    held: Option<i64>,
    additions: i64,
    /// The last file that a load inside this one has read.
    file: Option<Vec<u8>>,
    /// The lines of the loads inside it; on the outermost load only.
    nested: String,
    /// The working directory, once it was asked for; on the outermost load only.
    directory: Option<Option<Vec<u8>>>,
}

impl Open {
    fn outermost(&mut self) -> &mut Open {
        let mut outermost = self;
        // SAFETY: the loads around this one, all in progress, none of them borrowed otherwise.
        while let Some(outer) = unsafe { outermost.outer.as_mut() } {
            outermost = outer;
        }
        outermost
    }
}

thread_local! {
    /// The innermost load of this thread.
    static INNERMOST: Cell<*mut Open> = const { Cell::new(ptr::null_mut()) };
}

/// Whether this thread is inside a load.
pub fn is_loading() -> bool {
    !INNERMOST.get().is_null()
}

/// Notes that a certificate is added to a store. Returns whether this is inside a load, which then counts it.
pub fn note_addition() -> bool {
    let open = INNERMOST.get();
    // SAFETY: a load in progress on this thread.
    if let Some(open) = unsafe { open.as_mut() } {
        open.additions += 1;
    }
    !open.is_null()
}

impl<S: Subject> Span<S> {
    /// Call this before the original. Nothing is measured if nothing is recorded, or if this library itself makes the
    /// call.
    pub fn begin(subject: impl FnOnce() -> Option<S>) -> Span<S> {
        let mut span = Span { subject: None, open: ptr::null_mut() };
        if !settings::enabled() || hook::is_inside() {
            return span;
        }
        let overhead = Overhead::begin();
        hook::shielded(|| {
            span.subject = subject();
            span.open();
            Some(())
        });
        // SAFETY: made by `open`, freed by `drop`.
        if let Some(open) = unsafe { span.open.as_mut() } {
            open.watch = Some(Stopwatch::start(overhead));
        }
        span
    }

    fn open(&mut self) {
        let marker = 0u8;
        let at = &raw const marker as usize;
        let mut outer = INNERMOST.get();
        // A load that began at this depth of the stack or deeper was left by `longjmp`, which drops nothing. SAFETY:
        // allocated as long as it was not dropped.
        while let Some(left) = unsafe { outer.as_ref() }.filter(|open| open.at <= at) {
            outer = left.outer;
        }
        // SAFETY: a load in progress on this thread.
        let depth = unsafe { outer.as_ref() }.map_or(0, |outer| outer.depth + 1);
        let store = self.subject.as_ref().and_then(S::store);
        if let (0, Some(store), Some(subject)) = (depth, store, &self.subject) {
            gathered::flush(store, || subject.held());
        }
        let held = self.subject.as_ref().and_then(S::held);
        let nested = String::with_capacity(if depth == 0 { ROOM } else { 0 });
        let open = Box::new(Open {
            outer,
            at,
            depth,
            watch: None,
            memory: None,
            held,
            additions: 0,
            file: None,
            nested,
            directory: None,
        });
        self.open = Box::into_raw(open);
        INNERMOST.set(self.open);
        if depth == 0 {
            // SAFETY: just made.
            unsafe { (*self.open).memory = memory::in_use() };
        }
    }

    /// The target, for loads whose target only the original creates.
    pub fn subject_mut(&mut self) -> Option<&mut S> {
        self.subject.as_mut()
    }

    /// Call this after the original.
    pub fn end(self, entry: &str, result: i64, sources: impl FnOnce(Option<&S>) -> Vec<Source>) {
        let _errno = hook::KeptErrno::new();
        // Dropped before `errno` is restored: before glibc 2.33 `free` could change it.
        let span = self;
        // SAFETY: made by `open`, freed by `drop`; nobody else has a reference meanwhile.
        let Some(open) = (unsafe { span.open.as_mut() }) else { return };
        let Some(watch) = open.watch else { return };
        let (took, overhead) = watch.stop();
        hook::shielded(|| {
            let memory = open
                .memory
                .zip(memory::in_use())
                .map(|(before, now)| now - before - (open.nested.capacity() - ROOM) as i64);
            span.report(open, &took, memory, entry, result, sources(span.subject.as_ref()));
            Some(())
        });
        drop(overhead);
    }

    fn report(
        &self,
        open: &mut Open,
        took: &Took,
        memory: Option<i64>,
        entry: &str,
        result: i64,
        mut sources: Vec<Source>,
    ) {
        let subject = self.subject.as_ref();
        let store = subject.and_then(S::store);
        for source in &mut sources {
            if source.kind == "system" && source.path.is_none() {
                source.path = open.file.take();
            }
        }
        let outermost = open.outer.is_null();
        let process = process::current();
        let mut line = Line::of("load", &process.id);
        line.number("tid", process::thread());
        line.number("t", took.t).number("wall", took.wall).number("cpu", took.cpu);
        line.number("process_cpu", process.cpu());
        line.text("entry", entry.as_bytes()).number("depth", open.depth).number("calls", 1);
        match subject {
            Some(subject) => line.path("library", subject.library().as_bytes()),
            None => line.raw("library", "null"),
        };
        line.raw("sources", &listed(&sources)).number("result", result);
        if sources.iter().any(Source::is_relative) {
            // Asked for once per load, including the loads inside it.
            let directory = &mut open.outermost().directory;
            if let Some(directory) = directory.get_or_insert_with(process::directory) {
                line.path("cwd", directory);
            }
        }
        line.known("certificates", subject.and_then(|subject| subject.certificates(open.held, result)));
        line.known("parsed", subject.and_then(|subject| subject.parsed(open.additions, result)));
        line.known("memory", memory.filter(|_| outermost));
        line.address("store", store);
        if outermost {
            let script = script::frames();
            line.raw("stack", &stack::native(script.interpreter)).raw("script", &script.list);
        } else {
            line.raw("stack", "null").raw("script", "null");
        }
        let line = line.finish();
        if let Some(store) = store {
            stores::loaded(store);
            if subject.is_some_and(|subject| subject.may_be_on_token(&sources)) {
                stores::put_on_token(store);
            }
        }
        if outermost {
            open.nested.push_str(&line);
            sink::append(&process.id, &open.nested);
            open.nested.clear();
        } else {
            keep(open, &line);
            // SAFETY: the load around this one, still in progress.
            let outer = unsafe { &mut *open.outer };
            outer.additions += open.additions;
            let file = sources.into_iter().rev().find(|source| matches!(source.kind, "file" | "system"));
            outer.file = file.and_then(|source| source.path).or_else(|| open.file.take()).or_else(|| outer.file.take());
        }
    }
}

/// Keeps a line until the outermost load ends.
fn keep(open: &mut Open, line: &str) {
    let nested = &mut open.outermost().nested;
    nested.push_str(line);
    if nested.len() > MOST_KEPT {
        sink::append(&process::current().id, nested);
        nested.clear();
    }
}

impl<S> Drop for Span<S> {
    fn drop(&mut self) {
        if !self.open.is_null() {
            // SAFETY: made by Box::into_raw in `open`; the loads inside it have ended, so nobody else has a pointer to
            // it.
            let open = unsafe { Box::from_raw(self.open) };
            INNERMOST.set(open.outer);
        }
    }
}
