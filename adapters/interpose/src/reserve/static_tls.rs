//! Thread-local variables that need no memory allocation in any thread.

#[cfg(target_os = "linux")]
core::arch::global_asm!(
    ".pushsection .tbss.windlass_static_tls,\"awT\",%nobits",
    ".globl windlass_static_tls",
    ".hidden windlass_static_tls",
    ".type windlass_static_tls, %object",
    ".size windlass_static_tls, 1",
    "windlass_static_tls: .zero 1",
    ".popsection",
);

/// If the code of a module finds one of its thread-local variables by an offset from the thread pointer (initial-exec),
/// all of them are in static TLS: the dynamic linker makes room when it loads the module, also in existing threads, or
/// refuses to load it. Otherwise a thread's first access to a library that was loaded by `dlopen` allocates memory
/// (`__tls_get_addr`), and glibc ends the process when there is none. One reference is enough, but it has to be in code
/// that is never left out.
#[inline(always)]
pub(super) fn stay() {
    let _offset: usize;
    // SAFETY: reads a constant that the dynamic linker has stored in the global offset table.
    unsafe {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        core::arch::asm!(
            "mov {}, qword ptr [rip + windlass_static_tls@GOTTPOFF]",
            out(reg) _offset,
            options(nostack, preserves_flags)
        );
        #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
        core::arch::asm!(
            "adrp {0}, :gottprel:windlass_static_tls",
            "ldr {0}, [{0}, :gottprel_lo12:windlass_static_tls]",
            out(reg) _offset,
            options(nostack, preserves_flags)
        );
    }
}
