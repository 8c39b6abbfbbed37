//! Which process this is, and what is set up when the library is loaded: then no other thread can be in the middle of
//! it while one forks.

use std::sync::atomic::{AtomicU32, Ordering};

/// Never 0, and another one in each process that descends from this one by `fork`.
///
/// A process id alone would not do: a grandchild may have that of the grandfather, which is gone. The count of forks
/// alone would not do either: a child of the bare system call runs no handler.
pub fn id() -> u64 {
    u64::from(FORKS.load(Ordering::Relaxed)) << 32 | u64::from(std::process::id())
}

/// How many forks lie between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Called by the dynamic linker before anything else of this library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    // SAFETY: the handler only counts. glibc forgets it when the library is unloaded (`__register_atfork` with our
    // handle).
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    // A panic message would go to the host's standard error. This hook belongs to our own copy of std.
    std::panic::set_hook(Box::new(|_| {}));
}

unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
