//! What this process inherited and the Rust runtime changes before `main`.
//!
//! The runtime ignores SIGPIPE and opens /dev/null in place of a closed standard stream. A program that
//! `run` starts must get what *we* were given: services of systemd start with SIGPIPE ignored
//! (`IgnoreSIGPIPE=`, systemd.exec(5)), shells start commands with its default, and `<&-` closes a stream.
//! The state is noted by a function in `.init_array`, which the loader calls before the runtime starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nix::libc::{SIGCHLD, SIGPIPE, c_int};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::stdio;

static IGNORED: AtomicU64 = AtomicU64::new(0);
static CLOSED: AtomicU64 = AtomicU64::new(0);

// SAFETY: `.init_array` holds addresses of functions without a result, that the loader calls once each, before
// `main`; `note` is one (the arguments that glibc passes are ignored by the C ABI). It panics nowhere, and of std it
// uses only files and memory, which need no runtime.
#[allow(unsafe_code)]
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    IGNORED.store(ignored.unwrap_or(0), Ordering::Relaxed);

    let mut closed = 0;
    for (number, stream) in [stdio::stdin(), stdio::stdout(), stdio::stderr()].into_iter().enumerate() {
        if fcntl_getfd(stream).is_err() {
            closed |= 1 << number;
        }
    }
    CLOSED.store(closed, Ordering::Relaxed);
}

/// Whether this process was started with `signal` ignored.
pub fn was_ignored(signal: c_int) -> bool {
    IGNORED.load(Ordering::Relaxed) & (1 << (signal - 1)) != 0
}

/// Makes the next program started from here get SIGPIPE and the standard streams as this process got them.
pub fn hand_on() -> std::io::Result<()> {
    if !was_ignored(SIGPIPE) {
        catch(SIGPIPE)?;
    }
    let closed = CLOSED.load(Ordering::Relaxed);
    for (number, stream) in [stdio::stdin(), stdio::stdout(), stdio::stderr()].into_iter().enumerate() {
        if closed & (1 << number) != 0 {
            fcntl_setfd(stream, FdFlags::CLOEXEC)?;
        }
    }
    Ok(())
}

/// Makes the exit status of children available to a parent that was started with SIGCHLD ignored: the kernel
/// throws it away then (wait(2), NOTES). The child gets SIGCHLD with its default, the only state a parent can hand on
/// that waits.
pub(crate) fn keep_status_of_children() -> std::io::Result<()> {
    if was_ignored(SIGCHLD) { catch(SIGCHLD) } else { Ok(()) }
}

/// A caught signal has its default again after execve (signal(7)), which makes an empty handler the way to
/// undo "ignored" for a program without touching a disposition unsafely.
fn catch(signal: c_int) -> std::io::Result<()> {
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(drop)
}
