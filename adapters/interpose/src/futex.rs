//! Sleeping until another thread changes a word (futex(2)), as the locks of the C library do.

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::hook::KeptErrno;

/// Sleeps while the word is `seen`, at most this long, or not at all. Where the kernel refuses the call (a filter), the
/// caller keeps polling.
pub fn wait(word: &AtomicU32, seen: u32, longest: Option<Duration>) {
    let _errno = KeptErrno::new();
    let longest = longest.map(|longest| libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: longest.subsec_nanos() as libc::c_long,
    });
    let timeout = longest.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word is a valid, aligned u32 and the time is valid or null, for the length of the call; nothing else
    // is read.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, seen, timeout)
    };
}

/// Wakes at most this many waiting threads.
pub fn wake(word: &AtomicU32, threads: i32) {
    let _errno = KeptErrno::new();
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, threads) };
}
