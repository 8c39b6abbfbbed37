//! Reading memory that may not be there.

use std::cell::Cell;

const PAGE: usize = 4096;
const KNOWN: usize = 32;
/// Bytes of tables that are read at most: far more than describe any stack.
const MOST: usize = 1 << 20;

/// Memory of this process. Of each page the kernel is asked once whether it can be read: a program may have unmapped it
/// or protected it, and the end of a mapped file is gone when somebody has made that shorter.
#[derive(Debug)]
pub struct Memory {
    pages: [Cell<usize>; KNOWN],
    left: Cell<usize>,
}

impl Memory {
    /// No page is known.
    pub const fn new() -> Memory {
        Memory { pages: [const { Cell::new(0) }; KNOWN], left: Cell::new(MOST) }
    }

    /// The word at an address; `None` if it can't be read, or if that is no address of a word.
    pub fn word(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(size_of::<usize>()) || !self.is_readable(address & !(PAGE - 1)) {
            return None;
        }
        // SAFETY: an aligned word in a page that can be read. (Another thread might unmap it just now. On this thread's
        // own stack none does; a frame that lies elsewhere is one of a stack that was left.)
        Some(unsafe { std::ptr::read_volatile(address as *const usize) })
    }

    /// The bytes at an address, a few of a table; `None` if they can't be read, or if too many were.
    pub fn fill(&self, address: usize, bytes: &mut [u8]) -> Option<()> {
        let Some(further) = bytes.len().checked_sub(1) else { return Some(()) };
        self.left.set(self.left.get().checked_sub(bytes.len())?);
        let (first, last) = (address & !(PAGE - 1), address.checked_add(further)? & !(PAGE - 1));
        if !(first..=last).step_by(PAGE).all(|page| self.is_readable(page)) {
            return None;
        }
        // SAFETY: in pages that can be read. Whoever reads tables has them of an object whose code is on the stack (see
        // `walk`).
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Some(())
    }

    fn is_readable(&self, page: usize) -> bool {
        if page == 0 {
            return false;
        }
        let known = &self.pages[page / PAGE % KNOWN];
        if known.get() == page {
            return true;
        }
        // The kernel reads the set before it finds that there is no such operation: EFAULT or EINVAL.
        // SAFETY: nothing is changed by this; an address that can't be read is an error.
        let status = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, page, 0, 8) };
        // SAFETY: the location is this thread's own. Whoever walks gives `errno` back.
        let readable = status == -1 && unsafe { *libc::__errno_location() } == libc::EINVAL;
        if readable {
            known.set(page);
        }
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Memory};

    #[test]
    fn what_is_not_there_is_not_read() {
        let memory = Memory::new();
        let word = 0x1234_5678_9abc_def0_usize;
        let at = &raw const word as usize;
        let bytes = |address| {
            let mut bytes = [0; 8];
            memory.fill(address, &mut bytes).map(|()| usize::from_ne_bytes(bytes))
        };
        assert_eq!((memory.word(at), bytes(at)), (Some(word), Some(word)));
        for address in [0, 8, 0xdead_beef, 0xdead_bee8, usize::MAX - 7, usize::MAX, 1 << 63] {
            assert_eq!((memory.word(address), bytes(address)), (None, None), "{address:x}");
        }
        assert_eq!(memory.word(at + 1), None);
    }

    #[test]
    fn so_much_is_read_and_no_more() {
        let (memory, bytes) = (Memory::new(), [1u8; 4]);
        let read = (0..MOST).map_while(|_| memory.fill(bytes.as_ptr() as usize, &mut [0; 4])).count();
        assert_eq!(read, MOST / 4);
    }
}
