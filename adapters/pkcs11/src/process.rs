//! The identity of this process, and the setup when the library is loaded: at that time no other thread can be in the
//! middle of it during a fork.

use std::sync::atomic::{AtomicU32, Ordering};

/// Never 0, and different in each process that descends from this one by `fork`.
///
/// A process id alone is not enough: a grandchild may have the id of its grandfather, which is gone. The count of forks
/// alone is not enough either: a child of the bare system call runs no handler.
pub fn id() -> u64 {
    u64::from(FORKS.load(Ordering::Relaxed)) << 32 | u64::from(std::process::id())
}

/// The number of forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Called by the dynamic linker before anything else in this library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    // SAFETY: the handler only counts. glibc removes it when the library is unloaded (`__register_atfork` with our
    // handle).
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    // A panic message would go to the host's standard error. This hook belongs to our own copy of std.
    std::panic::set_hook(Box::new(|_| {}));
}

unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
