//! What is said once of each process: who it is, which objects its stacks go through, how it ended.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use windlass_interpose::fork_lock::ForkLock;
use windlass_interpose::{address_space, hook};

use crate::clock::Overhead;
use crate::json::{self, Line};
use crate::modules::Modules;
use crate::{clock, find_object, gathered, memory, settings, sink};

const MOST_ARGUMENTS: usize = 64;
const LONGEST_COMMAND: u64 = 64 * 1024;

/// What is known of this process. A forked child begins anew: its stacks name modules of its own.
pub struct Process {
    /// Process id.
    pub id: u32,
    /// Inode of its namespace of process ids, in which alone `id` is unique.
    pub namespace: Option<u64>,
    /// The objects that stacks have referred to.
    pub modules: Modules,
    /// Its number, which no ancestor has; not so with ids, in a namespace of its own.
    space: u32,
    /// CPU time that this library had used before.
    own_cpu: u64,
    /// Its event has been written.
    introduced: AtomicBool,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

impl Process {
    /// CPU time of the program's own.
    pub fn cpu(&self) -> u64 {
        clock::process_cpu(self.own_cpu)
    }
}

/// This process; its `process` event has been written, if the file could be.
pub fn current() -> &'static Process {
    static BEGINNING: ForkLock = ForkLock::new();
    let space = address_space::id();
    if let Some(process) = known(space).filter(|process| process.introduced.load(Ordering::Acquire)) {
        return process;
    }
    let _guard = BEGINNING.lock();
    let process = known(space).unwrap_or_else(|| {
        sink::forget_lost();
        let fresh: &'static Process = Box::leak(Box::new(Process {
            id: std::process::id(),
            namespace: namespace(),
            modules: Modules::new(),
            space,
            own_cpu: clock::own_cpu(),
            introduced: AtomicBool::new(false),
        }));
        CURRENT.store(ptr::from_ref(fresh).cast_mut(), Ordering::Release);
        fresh
    });
    if !process.introduced.load(Ordering::Acquire) && introduce(process) {
        process.introduced.store(true, Ordering::Release);
    }
    process
}

fn known(space: u32) -> Option<&'static Process> {
    // SAFETY: only pointers from Box::leak are stored.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }.filter(|process| process.space == space)
}

/// The library has been loaded, and something is to be recorded.
pub fn begin() {
    windlass_interpose::unwinding::prepare();
    let overhead = Overhead::begin();
    find_object::prepare();
    memory::find();
    current();
    drop(overhead);
}

/// The process ends by `exit`.
pub extern "C" fn end() {
    // A forked child that did nothing that is recorded says nothing of its end either.
    if settings::enabled()
        && let Some(process) = known(address_space::id())
    {
        hook::shielded(|| {
            gathered::flush_all();
            let mut line = Line::of("exit", process);
            line.number("t", clock::now()).number("cpu", process.cpu());
            line.known("max_rss", max_rss());
            sink::append(process, &line.finish());
            Some(())
        });
    }
}

/// Id of this thread.
pub fn thread() -> i64 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

fn introduce(process: &Process) -> bool {
    let mut line = Line::of("process", process);
    line.number("ppid", std::os::unix::process::parent_id()).number("t", clock::now());
    match std::fs::read_link("/proc/self/exe") {
        Ok(exe) => line.path("exe", exe.as_os_str().as_bytes()),
        Err(_) => line.raw("exe", "null"),
    };
    line.raw("args", &arguments());
    sink::put(&line.finish())
}

/// The working directory.
pub fn directory() -> Option<Vec<u8>> {
    std::env::current_dir().ok().map(|path| path.into_os_string().into_vec())
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

fn namespace() -> Option<u64> {
    // SAFETY: stat is plain data that stat fills.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: NUL-terminated path, and room for the answer.
    let found = unsafe { libc::stat(c"/proc/self/ns/pid".as_ptr(), &mut status) };
    (found == 0).then_some(status.st_ino)
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
