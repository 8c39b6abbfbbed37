//! How a foreign function is stood in front of: one macro, one guard.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{object, process};

/// The return address of a hooked call: it lies in the object that called, which tells whose function was meant.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Caller(usize);

impl Caller {
    /// An address in the object that called.
    ///
    /// An original that ends in a jump to another hooked function (SSL_load_client_CA_file to its `_ex` form) leaves our own
    /// return address there: then it is that original which called.
    pub fn address(self) -> usize {
        let callee = CALLEE.get();
        if callee != 0 && object::is_ours(self.0) { callee } else { self.0 }
    }
}

/// Exports a function under a foreign name. The exported code only reads its return address and passes it on as one more
/// argument to the handler; the number in front is that of the foreign function's own arguments, all of them
/// integers or pointers (System V AMD64 ABI; AAPCS64).
macro_rules! hook {
    ($($count:tt $name:ident => $handler:path;)*) => {
        $(
            #[doc = concat!("Stands in front of the foreign `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As for the foreign function: this only passes the call on to the handler, which takes the same arguments
            /// and the return address.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                hook!(@body $count $handler)
            }
        )*
    };
    (@body 0 $handler:path) => { hook!(@jump "mov rdi, [rsp]", "mov x0, x30", $handler) };
    (@body 1 $handler:path) => { hook!(@jump "mov rsi, [rsp]", "mov x1, x30", $handler) };
    (@body 2 $handler:path) => { hook!(@jump "mov rdx, [rsp]", "mov x2, x30", $handler) };
    (@body 3 $handler:path) => { hook!(@jump "mov rcx, [rsp]", "mov x3, x30", $handler) };
    (@body 4 $handler:path) => { hook!(@jump "mov r8, [rsp]", "mov x4, x30", $handler) };
    (@body 5 $handler:path) => { hook!(@jump "mov r9, [rsp]", "mov x5, x30", $handler) };
    // Seven arguments: on x86-64 the seventh is on the stack, and so is the return address as the eighth.
    (@body 7 $handler:path) => {
        {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, [rsp]",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "push qword ptr [rsp + 24]",
                ".cfi_adjust_cfa_offset 8",
                "call {handler}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                handler = sym $handler,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("mov x7, x30", "b {handler}", handler = sym $handler);
        }
    };
    (@jump $x86:literal, $arm:literal, $handler:path) => {
        {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!($x86, "jmp {handler}", handler = sym $handler);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!($arm, "b {handler}", handler = sym $handler);
        }
    };
}

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    /// The original that this thread has called last and that has not returned.
    static CALLEE: Cell<usize> = const { Cell::new(0) };
}

/// Runs a handler's own part. It does not run, and `None` comes back, when the library is switched off, when this
/// thread is already inside a hook (then libcrypto is calling itself through its PLT on our behalf), or when the part
/// panics: the caller then goes on with the original function.
pub fn guarded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    if !process::enabled() || INSIDE.get() > 0 {
        return None;
    }
    let _errno = KeptErrno::new();
    let _inside = inside();
    let _uncancelled = uncancelled();
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(None)
}

/// Gives `errno` back as it was: CPython clears it, calls a loading function, and takes what it finds there for the reason
/// of a failure (_ssl.c, load_verify_locations). The original sets it after this, as without us.
pub struct KeptErrno(c_int);

impl KeptErrno {
    /// Remembers it.
    pub fn new() -> KeptErrno {
        // SAFETY: the location is this thread's own.
        KeptErrno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeptErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// Keeps `pthread_cancel` off this thread until the value is dropped: its forced unwinding can't pass what catches panics.
/// Originals are called outside of this, through functions that may unwind.
pub fn uncancelled() -> Uncancelled {
    let mut previous = 0;
    // SAFETY: changes this thread's own state, which `drop` restores.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut previous) };
    Uncancelled { previous }
}

/// See [`uncancelled`].
pub struct Uncancelled {
    previous: c_int,
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pthread_setcancelstate(self.previous, std::ptr::null_mut()) };
    }
}

const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, previous: *mut c_int) -> c_int;
}

/// Notes which original is being called, until the value is dropped.
pub fn calling(original: usize) -> Calling {
    Calling { outer: CALLEE.replace(original) }
}

/// See [`calling`].
pub struct Calling {
    outer: usize,
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLEE.set(self.outer);
    }
}

/// Whether this thread is inside one of our hooks.
pub fn is_inside() -> bool {
    INSIDE.get() > 0
}

/// Marks this thread as inside until the value is dropped: hooks reached meanwhile go straight to their originals.
pub fn inside() -> Inside {
    INSIDE.set(INSIDE.get() + 1);
    Inside(())
}

/// See [`inside`].
pub struct Inside(());

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}
