//! The registers of this thread, by their DWARF numbers (System V AMD64 ABI, figure 3.36; DWARF for the Arm 64-bit
//! architecture).

use core::arch::asm;

/// The number of registers, including the return address.
pub const COUNT: usize = if cfg!(target_arch = "aarch64") { 32 } else { 17 };
/// The number of the stack pointer.
pub const STACK: usize = if cfg!(target_arch = "aarch64") { 31 } else { 7 };

/// The known registers of a frame.
#[derive(Clone, Copy)]
pub struct Registers {
    /// Their values; `None` for a register that a called function need not preserve.
    pub values: [Option<usize>; COUNT],
    /// The address at which the frame's code goes on.
    pub at: usize,
}

/// The registers of the function that this is inlined into: the ones that a called function preserves.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn here() -> Registers {
    const KEPT: [usize; 7] = [3, 6, 7, 12, 13, 14, 15];
    let mut raw = [0usize; KEPT.len()];
    let at: usize;
    // SAFETY: writes registers into an array that has room for them.
    unsafe {
        asm!(
            "mov [{raw}], rbx",
            "mov [{raw} + 8], rbp",
            "mov [{raw} + 16], rsp",
            "mov [{raw} + 24], r12",
            "mov [{raw} + 32], r13",
            "mov [{raw} + 40], r14",
            "mov [{raw} + 48], r15",
            "lea {raw}, [rip]",
            raw = inout(reg) raw.as_mut_ptr() => at,
            options(nostack, preserves_flags),
        );
    }
    with(&KEPT, &raw, at)
}

/// The registers of the function that this is inlined into: the ones that a called function preserves.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn here() -> Registers {
    const KEPT: [usize; 13] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31];
    let mut raw = [0usize; KEPT.len()];
    let at: usize;
    // SAFETY: writes registers into an array that has room for them.
    unsafe {
        asm!(
            "stp x19, x20, [{raw}]",
            "stp x21, x22, [{raw}, #16]",
            "stp x23, x24, [{raw}, #32]",
            "stp x25, x26, [{raw}, #48]",
            "stp x27, x28, [{raw}, #64]",
            "stp x29, x30, [{raw}, #80]",
            "mov {at}, sp",
            "str {at}, [{raw}, #96]",
            "adr {at}, .",
            raw = in(reg) raw.as_mut_ptr(),
            at = out(reg) at,
            options(nostack, preserves_flags),
        );
    }
    with(&KEPT, &raw, at)
}

#[inline(always)]
fn with(numbers: &[usize], raw: &[usize], at: usize) -> Registers {
    let mut values = [None; COUNT];
    for (number, value) in numbers.iter().zip(raw) {
        values[*number] = Some(*value);
    }
    Registers { values, at }
}
