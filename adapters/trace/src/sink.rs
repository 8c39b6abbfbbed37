//! How lines get into the file: one `open`, one `write`, one `close`, and no descriptor that stays.

use std::ffi::{CStr, c_int};
use std::mem;
use std::ptr;

use crate::settings;

/// Appends whole lines. What goes wrong is nobody's to know.
pub fn append(lines: &str) {
    if let Some(file) = settings::file()
        && let Some(descriptor) = open(file)
    {
        write(descriptor, lines);
        // SAFETY: opened above.
        unsafe { libc::close(descriptor) };
    }
}

fn open(file: &CStr) -> Option<c_int> {
    let flags =
        libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: NUL-terminated path. O_NONBLOCK: never waits for the reader of a FIFO.
    let descriptor = unsafe { libc::open(file.as_ptr(), flags) };
    match descriptor {
        ..0 => None,
        // The program has closed its standard streams; another thread of it may be writing to them.
        0..3 => {
            // SAFETY: makes a second descriptor and closes the one from above.
            let other = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) };
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
            (other >= 0).then_some(other)
        }
        _ => Some(descriptor),
    }
}

fn write(descriptor: c_int, lines: &str) {
    // SAFETY: stat is plain data that fstat fills.
    let mut status: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: a descriptor of ours, and room for the answer.
    let found = unsafe { libc::fstat(descriptor, &mut status) };
    if found != 0 || status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return;
    }
    // Beyond RLIMIT_FSIZE a write raises SIGXFSZ, which would end the program.
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: room for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    let _held = (limit.rlim_cur != libc::RLIM_INFINITY).then(Held::new);
    // SAFETY: the bytes of a string. A part that was written, or none, is all that can be had.
    unsafe { libc::write(descriptor, lines.as_ptr().cast(), lines.len()) };
}

/// Keeps SIGXFSZ from this thread, and takes back one that a write of ours has caused.
struct Held {
    previous: libc::sigset_t,
    ours: libc::sigset_t,
    was_pending: bool,
}

impl Held {
    fn new() -> Held {
        // SAFETY: signal sets are plain data; all calls fill or read sets of this frame, and change this thread's mask only.
        unsafe {
            let (mut previous, mut ours, mut pending) = (mem::zeroed(), mem::zeroed(), mem::zeroed());
            libc::sigemptyset(&mut ours);
            libc::sigaddset(&mut ours, libc::SIGXFSZ);
            libc::sigpending(&mut pending);
            let was_pending = libc::sigismember(&pending, libc::SIGXFSZ) == 1;
            libc::pthread_sigmask(libc::SIG_BLOCK, &ours, &mut previous);
            Held { previous, ours, was_pending }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: as above; a zero time only looks whether the signal is pending.
        unsafe {
            if !self.was_pending {
                let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(&self.ours, ptr::null_mut(), &now);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.previous, ptr::null_mut());
        }
    }
}
