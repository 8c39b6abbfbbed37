//! Reading memory that may not be mapped.

use std::cell::Cell;

const PAGE: usize = 4096;
const KNOWN: usize = 32;
/// The most bytes of tables that are read: far more than any stack needs.
const MOST: usize = 1 << 20;

/// Memory of this process. The kernel is asked once for each page whether it can be read: a program may have unmapped
/// or protected it, and a mapped file loses its end when somebody truncates it.
#[derive(Debug)]
pub struct Memory {
    pages: [Cell<usize>; KNOWN],
    left: Cell<usize>,
}

impl Memory {
    /// Without any known page.
    pub const fn new() -> Memory {
        Memory { pages: [const { Cell::new(0) }; KNOWN], left: Cell::new(MOST) }
    }

    /// The word at an address; `None` if it can't be read, or if the address is not aligned.
    pub fn word(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(size_of::<usize>()) || !self.is_readable(address & !(PAGE - 1)) {
            return None;
        }
        // SAFETY: an aligned word in a page that can be read. (Another thread might unmap it just now. No thread does
        // so on this thread's own stack; a frame elsewhere belongs to a stack that was left.)
        Some(unsafe { std::ptr::read_volatile(address as *const usize) })
    }

    /// Reads a few bytes of a table at an address; `None` if they can't be read, or if too many were.
    pub fn fill(&self, address: usize, bytes: &mut [u8]) -> Option<()> {
        let Some(further) = bytes.len().checked_sub(1) else { return Some(()) };
        self.left.set(self.left.get().checked_sub(bytes.len())?);
        let (first, last) = (address & !(PAGE - 1), address.checked_add(further)? & !(PAGE - 1));
        if !(first..=last).step_by(PAGE).all(|page| self.is_readable(page)) {
            return None;
        }
        // SAFETY: in pages that can be read. A caller that reads tables takes them from an object whose code is on the
        // stack (see `walk`).
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
        // The kernel reads the set before it finds that the operation does not exist: EFAULT or EINVAL. SAFETY: this
        // changes nothing; an unreadable address is an error.
        let status = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, page, 0, 8) };
        // SAFETY: the location is this thread's own. The caller of the walk restores `errno`.
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
