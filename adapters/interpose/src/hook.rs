//! How a foreign function is stood in front of: one macro, one guard.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{object, reserve, unwinding};

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
#[macro_export]
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
                $crate::hook!(@body $count $handler)
            }
        )*
    };
    (@body 0 $handler:path) => { $crate::hook!(@jump "mov rdi, [rsp]", "mov x0, x30", $handler) };
    (@body 1 $handler:path) => { $crate::hook!(@jump "mov rsi, [rsp]", "mov x1, x30", $handler) };
    (@body 2 $handler:path) => { $crate::hook!(@jump "mov rdx, [rsp]", "mov x2, x30", $handler) };
    (@body 3 $handler:path) => { $crate::hook!(@jump "mov rcx, [rsp]", "mov x3, x30", $handler) };
    (@body 4 $handler:path) => { $crate::hook!(@jump "mov r8, [rsp]", "mov x4, x30", $handler) };
    (@body 5 $handler:path) => { $crate::hook!(@jump "mov r9, [rsp]", "mov x5, x30", $handler) };
    // Six arguments fill the registers of x86-64: the return address is the first thing on the stack.
    (@body 6 $handler:path) => {
        {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push qword ptr [rsp]",
                ".cfi_adjust_cfa_offset 8",
                "call {handler}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                handler = sym $handler,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("mov x6, x30", "b {handler}", handler = sym $handler);
        }
    };
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
    // Eight arguments: two are on the stack of x86-64 and none on that of AArch64, where the return address is the first.
    (@body 8 $handler:path) => {
        {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push qword ptr [rsp]",
                ".cfi_adjust_cfa_offset 8",
                "push qword ptr [rsp + 24]",
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
            core::arch::naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-32]!",
                ".cfi_adjust_cfa_offset 32",
                ".cfi_rel_offset x29, 0",
                ".cfi_rel_offset x30, 8",
                "sub sp, sp, #16",
                ".cfi_adjust_cfa_offset 16",
                "str x30, [sp]",
                "bl {handler}",
                "add sp, sp, #16",
                ".cfi_adjust_cfa_offset -16",
                "ldp x29, x30, [sp], #32",
                ".cfi_adjust_cfa_offset -32",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                handler = sym $handler,
            );
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

/// Calls the function that a call would have reached without us. `$forward` finds it; the adapters wrap this.
#[macro_export]
macro_rules! call_original {
    ($forward:path, $library:expr, $caller:expr, $name:ident($($arg:expr),* $(,)?), or $failure:expr) => {
        match $forward(
            $library,
            $caller,
            const {
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a function name holds no NUL"),
                }
            },
            |originals| originals.$name,
        ) {
            Some(function) => {
                let _calling = $crate::hook::calling(function as usize);
                // SAFETY: the arguments are those that the program passed for this very function.
                unsafe { function($($arg),*) }
            }
            None => $failure,
        }
    };
}

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    /// The original that this thread has called last and that has not returned.
    static CALLEE: Cell<usize> = const { Cell::new(0) };
}

/// Runs a handler's own part. It does not run, and `None` comes back, when this thread is already inside a hook (then a
/// foreign library is calling itself through its PLT on our behalf), or when the part panics: the caller then goes on with the
/// original function.
pub fn guarded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    if INSIDE.get() > 0 {
        return None;
    }
    shielded(part)
}

/// As [`guarded`], but runs the part in any case: for what has to happen to an object that is known to be ours to serve.
pub fn shielded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    let _errno = KeptErrno::new();
    let _chunk = reserve::claim()?;
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
    // Whatever it calls may unwind through the hook.
    unwinding::prepare();
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

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, resume_unwind};

    use super::Caller;

    /// One hook for each number of arguments. Its handler adds them up, each with a weight of its own, and unwinds when the
    /// sum is that of no arguments: what a program's callback may do below an original.
    macro_rules! adders {
        ($($count:tt $hook:ident $handler:ident $call:ident($($argument:ident),*);)*) => {
            $(
                extern "C-unwind" fn $handler($($argument: usize,)* caller: Caller) -> usize {
                    assert_ne!(caller.0, 0);
                    let arguments: &[usize] = &[$($argument),*];
                    let sum = arguments.iter().enumerate().map(|(at, argument)| (at + 1) * argument).sum();
                    if sum == 0 {
                        resume_unwind(Box::new(caller.0));
                    }
                    sum
                }

                #[inline(never)]
                fn $call(function: unsafe extern "C" fn(), arguments: [usize; $count]) -> usize {
                    // SAFETY: the hook passes on this many integers and returns what the handler does.
                    let function = unsafe {
                        std::mem::transmute::<
                            unsafe extern "C" fn(),
                            extern "C-unwind" fn($(adders!(@type $argument)),*) -> usize,
                        >(function)
                    };
                    let [$($argument),*] = arguments;
                    function($($argument),*)
                }
            )*
            hook! { $($count $hook => $handler;)* }

            #[test]
            fn arguments_pass_and_unwinding_comes_through() {
                $(
                    let weights: usize = (0..$count + 1).map(|at| at * at).sum();
                    if weights > 0 {
                        assert_eq!($call($hook, std::array::from_fn(|at| at + 1)), weights, "{} arguments", $count);
                    }
                    let caught = catch_unwind(|| $call($hook, [0; $count]));
                    let caller = *caught.expect_err("the handler unwinds").downcast::<usize>().expect("the caller");
                    let here = $call as fn(_, _) -> _ as usize;
                    assert!((here..here + 4096).contains(&caller), "{} arguments: called from {caller:x}", $count);
                )*
            }
        };
        (@type $argument:ident) => { usize };
    }

    adders! {
        0 windlass_test_hook_0 add_0 call_0();
        1 windlass_test_hook_1 add_1 call_1(a);
        2 windlass_test_hook_2 add_2 call_2(a, b);
        3 windlass_test_hook_3 add_3 call_3(a, b, c);
        4 windlass_test_hook_4 add_4 call_4(a, b, c, d);
        5 windlass_test_hook_5 add_5 call_5(a, b, c, d, e);
        6 windlass_test_hook_6 add_6 call_6(a, b, c, d, e, f);
        7 windlass_test_hook_7 add_7 call_7(a, b, c, d, e, f, g);
        8 windlass_test_hook_8 add_8 call_8(a, b, c, d, e, f, g, h);
    }
}
