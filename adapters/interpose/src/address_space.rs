//! Identifies this address space, as distinct from those it was copied from, without a system call.
//!
//! A word in a page that the kernel clears in each copy (`MADV_WIPEONFORK`, Linux 4.14) holds a number; code that finds
//! the word cleared takes the next number. This catches every copy, whether made by `fork` or by the bare system call.
//! Code that runs in the same memory (threads, a child of `vfork`) has the same number.
//!
//! Creating the page takes system calls that a process behind a filter may not make later, so a library calls
//! [`prepare`] when it is loaded.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The number of this address space: never 0, different from those of all its ancestors, and below [`LIMIT`].
///
/// Where the kernel can't clear pages, only copies made by `fork` are told apart.
pub fn id() -> u32 {
    let word = word();
    match word.load(Ordering::Relaxed) {
        0 => renew(word),
        id => id,
    }
}

/// All numbers are below this.
pub const LIMIT: u32 = 1 << 31;

/// Creates the page, if this was not done before. Afterwards [`id`] makes no system call, in any copy of this memory.
pub fn prepare() {
    word();
}

/// Used when the page can't be had. The `fork` handler clears it.
static NO_PAGE: AtomicU32 = AtomicU32::new(0);

/// The word that a fork clears.
fn word() -> &'static AtomicU32 {
    static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
    let mut word = WORD.load(Ordering::Acquire);
    if word.is_null() {
        let fresh = map().unwrap_or(ptr::from_ref(&NO_PAGE).cast_mut());
        word = match WORD.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // For `NO_PAGE`; also, a process that was frozen and restored (CRIU) may have lost the kernel's
                // promise. SAFETY: the function does nothing but store a word.
                unsafe { libc::pthread_atfork(None, None, Some(forget)) };
                fresh
            }
            Err(winner) => {
                unmap(fresh);
                winner
            }
        };
    }
    // SAFETY: NO_PAGE, or a published page, which is never unmapped and which every copy of this memory has at the same
    // place.
    unsafe { &*word }
}

/// A number that no ancestor has: the count continues in each copy, and is never behind a number in use. (A copy may be
/// made while another thread is here.)
fn renew(word: &AtomicU32) -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut next = 0;
    while next == 0 {
        next = COUNT.fetch_add(1, Ordering::Relaxed).wrapping_add(1) % LIMIT;
    }
    match word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => next,
        Err(winner) => winner,
    }
}

fn map() -> Option<*mut AtomicU32> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, which the kernel places in unused space. The advice on it does not change other memory.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), LEN, access, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        // Some emulators accept any advice.
        let is_honest = libc::madvise(page, LEN, NO_ADVICE) != 0;
        if is_honest && libc::madvise(page, LEN, libc::MADV_WIPEONFORK) == 0 {
            return Some(page.cast());
        }
        libc::munmap(page, LEN);
        None
    }
}

/// Runs in a child of `fork`.
unsafe extern "C" fn forget() {
    word().store(0, Ordering::Relaxed);
}

fn unmap(page: *mut AtomicU32) {
    if !ptr::eq(page, &NO_PAGE) {
        // SAFETY: from map(), and never published.
        unsafe { libc::munmap(page.cast(), LEN) };
    }
}

const NO_ADVICE: libc::c_int = -1;

/// The kernel rounds this up to whole pages.
const LEN: usize = size_of::<AtomicU32>();

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of `look` in a forked child.
    fn in_child(look: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child does nothing but look and leave.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(i32::from(look()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert!(libc::WIFEXITED(status));
            libc::WEXITSTATUS(status) == 1
        }
    }

    #[test]
    fn a_copy_has_another_number_than_all_before_it() {
        let parent = id();
        assert_ne!(parent, 0);
        assert_eq!(id(), parent);
        assert!(in_child(|| {
            let child = id();
            child != parent && child == id() && in_child(|| ![0, child, parent].contains(&id()))
        }));
        assert_eq!(id(), parent);
    }

    #[test]
    fn a_thread_has_the_same_number() {
        let here = id();
        assert_eq!(std::thread::spawn(id).join().unwrap(), here);
    }
}
