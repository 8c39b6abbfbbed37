//! The slots of a loaded object: the words in which the linker stores addresses, and whether it has stored them.

use std::ptr;

use crate::elf::Loaded;

impl Loaded {
    /// Calls `visit` with each slot in which the linker stores the address of a symbol, until `visit` has seen enough.
    /// Only for symbols whose entry in `filter`, indexed by the lowest bits of their number, is not 0.
    pub fn slots(&self, filter: &[u8; FILTER], mut visit: impl FnMut(&Slot) -> bool) {
        for (place, (table, count)) in self.relocations.into_iter().enumerate() {
            for at in 0..count {
                // SAFETY: the table has this many entries.
                let relocation = unsafe { &*table.add(at) };
                if filter[relocation.symbol as usize % FILTER] == 0 {
                    continue;
                }
                if !is_slot(relocation.kind) || relocation.addend != 0 || relocation.symbol == 0 {
                    continue;
                }
                let slot = Slot {
                    at: self.base.wrapping_add(relocation.offset as usize) as *mut usize,
                    symbol: relocation.symbol as usize,
                    kind: relocation.kind,
                    number: (place == 0).then_some(at as u32),
                };
                if !visit(&slot) {
                    return;
                }
            }
        }
    }

    /// Whether a slot is in a page that the linker has made read-only (`_dl_protect_relro`, which rounds both ends
    /// down).
    pub fn is_read_only(&self, slot: usize, page: usize) -> bool {
        let (start, end) = (self.relro.0 & !(page - 1), self.relro.1 & !(page - 1));
        (start..end).contains(&slot)
    }

    /// Whether threads have copies of a slot: those of threads that run are not reached.
    pub fn is_per_thread(&self, slot: usize) -> bool {
        (self.per_thread.0..self.per_thread.1).contains(&slot)
    }

    /// Whether the linker has finished relocating it. The linker processes the relocations of the procedure linkage
    /// table last, and leaves none of their slots as it is in the file. An object without them is checked by the
    /// relocations of functions that choose among several (`STT_GNU_IFUNC`).
    pub fn is_relocated(&self) -> bool {
        const MARKS: [u32; 2] = [KINDS[0], IRELATIVE];
        let last = self.relocations.iter().find(|(_, count)| *count > 0).map(|(table, count)| {
            // SAFETY: the table has this many entries.
            unsafe { &*table.add(count - 1) }
        });
        let Some(last) = last.filter(|last| MARKS.contains(&last.kind) && self.base != 0) else { return true };
        let slot = self.base.wrapping_add(last.offset as usize) as *const usize;
        // SAFETY: a relocation names a word of the object.
        unsafe { slot.read_unaligned() >= self.end - self.start }
    }

    /// The variables that an executable has copied from its libraries (`R_X86_64_COPY`): address and size of each.
    pub fn copied(&self) -> impl Iterator<Item = (usize, usize)> {
        let (table, count) = if self.is_executable() { self.relocations[1] } else { (ptr::null(), 0) };
        // SAFETY: the table has this many entries, and its symbols exist.
        (0..count).map(move |at| unsafe { &*table.add(at) }).filter(|one| one.kind == COPY).map(|one| {
            // SAFETY: as above.
            let size = unsafe { (*self.symbols.add(one.symbol as usize)).size };
            (self.base.wrapping_add(one.offset as usize), size as usize)
        })
    }

    /// The executable's procedure linkage table entry that stands for a function wherever its address is taken. Only an
    /// executable that is not position-independent has one.
    pub fn stand_in(&self, symbol: usize) -> Option<usize> {
        // SAFETY: the table has this symbol.
        let symbol = unsafe { &*self.symbols.add(symbol) };
        (symbol.section == 0 && symbol.value != 0).then(|| self.base.wrapping_add(symbol.value as usize))
    }

    /// Whether a slot is writable according to the file: false where code itself is relocated (`DT_TEXTREL`).
    pub fn is_writable(&self, slot: *const usize) -> bool {
        (self.writable.0..self.writable.1).contains(&(slot as usize))
    }

    /// Whether a value is the one that the linker stores in a slot until the first call: an address in the object's
    /// procedure linkage table.
    pub fn is_unbound(&self, slot: &Slot, value: usize) -> bool {
        let Some(number) = slot.number else { return false };
        if value < self.code.0 || value.saturating_add(ENTRY) > self.code.1 {
            return false;
        }
        // On x86-64 this code pushes the number of the relocation (x86-64 psABI, 5.2), after an `endbr64` where
        // required.
        #[cfg(target_arch = "x86_64")]
        {
            const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
            const PUSH: u8 = 0x68;
            // SAFETY: `ENTRY` bytes of the object's code.
            let bytes: [u8; ENTRY] = unsafe { (value as *const [u8; ENTRY]).read() };
            let code = bytes.strip_prefix(&ENDBR64).unwrap_or(&bytes);
            code[0] == PUSH && code[1..5] == number.to_le_bytes()
        }
        // On AArch64 all slots have the address of the table's first entry.
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = number;
            true
        }
    }
}

/// A word in which the linker stores the address of a symbol.
pub struct Slot {
    /// Its address.
    pub at: *mut usize,
    /// The number of the symbol.
    pub symbol: usize,
    kind: u32,
    /// Its number among the relocations of the procedure linkage table; None if it is not one of them.
    number: Option<u32>,
}

impl Slot {
    /// Whether only compiler-generated calls use it.
    pub fn is_for_calls(&self) -> bool {
        self.kind == KINDS[0]
    }

    /// Whether it is a variable of the program's own, initialised with this address, and not a word that only
    /// compiler-generated calls use.
    pub fn is_variable(&self) -> bool {
        self.kind == KINDS[2]
    }
}

/// The number of bytes that identify an entry of the procedure linkage table.
const ENTRY: usize = 9;

/// Relocations that make a slot hold the address of a symbol.
#[cfg(target_arch = "x86_64")]
const KINDS: [u32; 3] = [7, 6, 1]; // R_X86_64_JUMP_SLOT, _GLOB_DAT, _64
#[cfg(target_arch = "x86_64")]
const IRELATIVE: u32 = 37;
#[cfg(target_arch = "x86_64")]
const COPY: u32 = 5;
#[cfg(target_arch = "aarch64")]
const KINDS: [u32; 3] = [1026, 1025, 257]; // R_AARCH64_JUMP_SLOT, _GLOB_DAT, _ABS64
#[cfg(target_arch = "aarch64")]
const IRELATIVE: u32 = 1032;
#[cfg(target_arch = "aarch64")]
const COPY: u32 = 1024;

fn is_slot(kind: u32) -> bool {
    KINDS.contains(&kind)
}

/// The number of classes of symbols that `Loaded::slots` distinguishes before it calls `visit`.
pub const FILTER: usize = 1024;
