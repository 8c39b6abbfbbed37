//! Events written once for each process: its identity, the objects that its stacks go through, its end.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use windlass_interpose::address_space;
use windlass_interpose::fork_lock::ForkLock;

use crate::json::{self, Id, Line};
use crate::modules::Modules;
use crate::{clock, sink};

const MOST_ARGUMENTS: usize = 64;
const LONGEST_COMMAND: u64 = 64 * 1024;

/// The state of this process. A forked child starts anew: its stacks refer to modules of its own.
pub struct Process {
    /// The identity in its events.
    pub id: Id,
    /// The objects that stacks have referred to.
    pub modules: Modules,
    /// The number of its address space, which no ancestor has; ids may repeat in a namespace of their own.
    space: u32,
    /// The CPU time that this library had used before this process.
    own_cpu: u64,
    /// Set once its event has been written.
    introduced: AtomicBool,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

impl Process {
    /// The program's own CPU time.
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
            id: Id { number: std::process::id(), namespace: namespace() },
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

/// This process; None if nothing was recorded for it.
pub fn begun() -> Option<&'static Process> {
    known(address_space::id())
}

fn known(space: u32) -> Option<&'static Process> {
    // SAFETY: only pointers from Box::leak are stored.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }.filter(|process| process.space == space)
}

/// The id of this thread.
pub fn thread() -> i64 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

fn introduce(process: &Process) -> bool {
    let mut line = Line::of("process", &process.id);
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
    let whole = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    let most = if whole.is_empty() { 0 } else { MOST_ARGUMENTS };
    let arguments = whole.split(|byte| *byte == 0).take(most);
    json::list(arguments, |out, argument| json::string(out, argument, json::LONGEST_TEXT))
}

fn namespace() -> Option<u64> {
    // SAFETY: stat is plain data that stat fills.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: NUL-terminated path, and room for the answer.
    let found = unsafe { libc::stat(c"/proc/self/ns/pid".as_ptr(), &mut status) };
    (found == 0).then_some(status.st_ino)
}
