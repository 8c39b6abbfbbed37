//! What is said once of each process: who it is, which objects its stacks go through, how it ended.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use windlass_interpose::fork_lock::ForkLock;
use windlass_interpose::hook;

use crate::json::{self, Line};
use crate::modules::Modules;
use crate::{clock, gathered, settings, sink};

const MOST_ARGUMENTS: usize = 64;
const LONGEST_COMMAND: u64 = 64 * 1024;

/// What is known of this process. A forked child begins anew: its stacks name modules of its own.
pub struct Process {
    /// Process id.
    pub id: u32,
    /// The objects that stacks have referred to.
    pub modules: Modules,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// This process; its `process` event has been written.
pub fn current() -> &'static Process {
    static BEGINNING: ForkLock = ForkLock::new();
    let id = std::process::id();
    if let Some(process) = known(id) {
        return process;
    }
    let _guard = BEGINNING.lock();
    if let Some(process) = known(id) {
        return process;
    }
    let fresh: &'static Process = Box::leak(Box::new(Process { id, modules: Modules::new() }));
    introduce(id);
    CURRENT.store(ptr::from_ref(fresh).cast_mut(), Ordering::Release);
    fresh
}

fn known(id: u32) -> Option<&'static Process> {
    // SAFETY: only pointers from Box::leak are stored.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }.filter(|process| process.id == id)
}

/// The library has been loaded.
pub extern "C" fn begin() {
    if settings::enabled() {
        hook::shielded(|| {
            current();
            Some(())
        });
    }
}

/// The process ends by `exit`.
pub extern "C" fn end() {
    let id = std::process::id();
    // A forked child that did nothing that is recorded says nothing of its end either.
    if settings::enabled() && known(id).is_some() {
        hook::shielded(|| {
            gathered::flush_all();
            let mut line = Line::new("exit");
            line.number("pid", id).number("t", clock::now()).number("cpu", clock::process_cpu());
            line.known("max_rss", max_rss());
            sink::append(&line.finish());
            Some(())
        });
    }
}

/// Id of this thread.
pub fn thread() -> i64 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

fn introduce(id: u32) {
    let mut line = Line::new("process");
    line.number("pid", id).number("ppid", std::os::unix::process::parent_id()).number("t", clock::now());
    match std::fs::read_link("/proc/self/exe") {
        Ok(exe) => line.path("exe", exe.as_os_str().as_bytes()),
        Err(_) => line.raw("exe", "null"),
    };
    line.raw("args", &arguments());
    sink::append(&line.finish());
}

fn arguments() -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open("/proc/self/cmdline") {
        let _ = file.take(LONGEST_COMMAND).read_to_end(&mut bytes);
    }
    let mut list = String::from("[");
    let whole = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if !whole.is_empty() {
        for argument in whole.split(|byte| *byte == 0).take(MOST_ARGUMENTS) {
            if list.len() > 1 {
                list.push(',');
            }
            json::string(&mut list, argument, json::LONGEST_TEXT);
        }
    }
    list.push(']');
    list
}

fn max_rss() -> Option<i64> {
    // SAFETY: rusage is plain data that getrusage fills.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: room for the answer.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    // Linux gives KiB (getrusage(2)).
    (status == 0).then(|| usage.ru_maxrss.saturating_mul(1024))
}

/// The bytes of a foreign string, which is copied because the program may change it; `None` for null.
///
/// # Safety
/// Null, or a NUL-terminated string.
pub unsafe fn copied(string: *const std::ffi::c_char) -> Option<Vec<u8>> {
    // SAFETY: as the caller states.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_bytes().to_vec())
}
