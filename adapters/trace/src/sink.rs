//! Writing lines to the file: one `open`, one `write`, one `close`, and no descriptor that stays open.

use std::ffi::{CStr, c_int};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::json::{Id, Line};
use crate::settings::{self, File};

/// The number of lines that could not be written and were not reported yet.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Appends whole lines. Lines that can't be written are counted, and their number is written before the next ones.
pub fn append(process: &Id, lines: &str) -> bool {
    let lost = LOST.swap(0, Ordering::Relaxed);
    let written = if lost == 0 {
        put(lines)
    } else {
        let mut line = Line::of("lost", process);
        line.number("events", lost);
        put(&(line.finish() + lines))
    };
    if !written {
        LOST.fetch_add(lost + lines.matches('\n').count() as u64, Ordering::Relaxed);
    }
    written
}

/// Resets the number, which belongs to another process: a forked child starts anew.
pub fn forget_lost() {
    LOST.store(0, Ordering::Relaxed);
}

/// Appends whole lines that the reader can do without.
pub fn put(lines: &str) -> bool {
    let Some(file) = settings::file() else { return false };
    let Some(descriptor) = open(&file.path).and_then(above_streams) else { return false };
    let written = write(file, descriptor, lines);
    // SAFETY: opened above.
    unsafe { libc::close(descriptor) };
    written
}

fn open(path: &CStr) -> Option<c_int> {
    let flags =
        libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: NUL-terminated path. O_NONBLOCK: never waits for the reader of a FIFO.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags) };
    (descriptor >= 0).then_some(descriptor)
}

/// Moves a descriptor of ours above the standard streams: the program may have closed those, and another thread of it
/// may be writing to them.
pub fn above_streams(descriptor: c_int) -> Option<c_int> {
    if descriptor >= 3 {
        return Some(descriptor);
    }
    // SAFETY: makes a second descriptor and closes the first one, which is ours.
    let other = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: as above.
    unsafe { libc::close(descriptor) };
    (other >= 0).then_some(other)
}

fn write(file: &File, descriptor: c_int, lines: &str) -> bool {
    // SAFETY: stat is plain data that fstat fills.
    let mut status: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: a descriptor of ours, and room for the answer.
    let found = unsafe { libc::fstat(descriptor, &mut status) };
    let is_it = file.identity.is_none_or(|identity| identity == (status.st_dev, status.st_ino));
    if found != 0 || status.st_mode & libc::S_IFMT != libc::S_IFREG || !is_it {
        return false;
    }
    let _held = Held::if_limited();
    // SAFETY: the bytes of a string. Whether all, some or none of them were written, nothing more can be done.
    let written = unsafe { libc::write(descriptor, lines.as_ptr().cast(), lines.len()) };
    usize::try_from(written) == Ok(lines.len())
}

/// Blocks SIGXFSZ for this thread, and consumes one that our own write has caused.
pub struct Held {
    previous: libc::sigset_t,
    ours: libc::sigset_t,
    was_pending: bool,
}

impl Held {
    /// Beyond RLIMIT_FSIZE a write raises SIGXFSZ, which would end the program.
    pub fn if_limited() -> Option<Held> {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: room for the answer.
        unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
        (limit.rlim_cur != libc::RLIM_INFINITY).then(Held::new)
    }

    fn new() -> Held {
        // SAFETY: signal sets are plain data; all calls fill or read sets of this frame, and change only this thread's
        // mask.
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
        // SAFETY: as above; with a zero timeout the call only checks whether the signal is pending.
        unsafe {
            if !self.was_pending {
                let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(&self.ours, ptr::null_mut(), &now);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.previous, ptr::null_mut());
        }
    }
}
