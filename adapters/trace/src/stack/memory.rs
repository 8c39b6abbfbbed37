//! Reading memory that may not be there.

use std::cell::Cell;

const PAGE: usize = 4096;
const KNOWN: usize = 8;

/// Memory of this process. Of each page the kernel is asked once whether it can be read.
pub struct Memory {
    pages: [Cell<usize>; KNOWN],
    next: Cell<usize>,
}

impl Memory {
    /// No page is known.
    pub const fn new() -> Memory {
        Memory { pages: [const { Cell::new(0) }; KNOWN], next: Cell::new(0) }
    }

    /// The word at an address; `None` if it can't be read, or if that is no address of a word.
    pub fn word(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(size_of::<usize>()) || !self.is_readable(address & !(PAGE - 1)) {
            return None;
        }
        // SAFETY: an aligned word in a page that can be read. (Another thread might unmap it just now. On this thread's own stack none does;
        // a frame that lies elsewhere is one of a stack that was left.)
        Some(unsafe { std::ptr::read_volatile(address as *const usize) })
    }

    fn is_readable(&self, page: usize) -> bool {
        if page == 0 {
            return false;
        }
        if self.pages.iter().any(|known| known.get() == page) {
            return true;
        }
        // The kernel reads the set before it finds that there is no such operation: EFAULT or EINVAL.
        // SAFETY: nothing is changed by this; an address that can't be read is an error.
        let status = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, page, 0, 8) };
        // SAFETY: the location is this thread's own. Whoever walks gives `errno` back.
        let readable = status == -1 && unsafe { *libc::__errno_location() } == libc::EINVAL;
        if readable {
            self.pages[self.next.replace((self.next.get() + 1) % KNOWN)].set(page);
        }
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn what_is_not_there_is_not_read() {
        let memory = Memory::new();
        let word = 0x1234_5678_9abc_def0_usize;
        assert_eq!(memory.word(&raw const word as usize), Some(word));
        for address in [0, 8, 0xdead_beef, 0xdead_bee8, usize::MAX - 7, 1 << 63, &raw const word as usize + 1] {
            assert_eq!(memory.word(address), None, "{address:x}");
        }
    }
}
