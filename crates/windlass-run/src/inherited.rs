//! State that this process inherited and that the Rust runtime changes before `main`.
//!
//! The runtime ignores SIGPIPE and opens /dev/null in place of a closed standard stream. A program started by `run`
//! must inherit the original state: systemd starts services with SIGPIPE ignored (`IgnoreSIGPIPE=`, systemd.exec(5)),
//! shells start commands with its default, and `<&-` closes a stream. A function in `.init_array`, which the loader
//! calls before the runtime starts, records that state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nix::libc::{SIGCHLD, SIGPIPE, c_int};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::stdio;

static IGNORED: AtomicU64 = AtomicU64::new(0);
static CLOSED: AtomicU64 = AtomicU64::new(0);

// SAFETY: `.init_array` holds addresses of functions without a result, which the loader calls once each, before `main`;
// `note` is one (the C ABI ignores the arguments that glibc passes). It never panics, and of std it uses only files and
// memory, which need no runtime.
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

/// Gives the next program started from here the SIGPIPE disposition and standard streams that this process inherited.
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

/// Keeps the exit status of children available even if this process was started with SIGCHLD ignored, in which case the
/// kernel would discard it (wait(2), NOTES). The child gets SIGCHLD with its default, the only state that a waiting
/// parent can pass on.
pub(crate) fn keep_status_of_children() -> std::io::Result<()> {
    if was_ignored(SIGCHLD) { catch(SIGCHLD) } else { Ok(()) }
}

/// Installs an empty handler. execve resets a caught signal to its default (signal(7)): this undoes "ignored" for a
/// program without unsafe code for dispositions.
fn catch(signal: c_int) -> std::io::Result<()> {
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(drop)
}
