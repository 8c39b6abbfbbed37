//! `dlsym` and `dlvsym`, as the objects of a program call them: an answer that is a hooked function of a known copy is exchanged for its
//! trampoline.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::definitions::{Definitions, Name};
use crate::elf::Loaded;
use crate::family::{Caller, Origin};
use crate::hook::{KeptErrno, uncancelled};
use crate::linker;
use crate::wanted::Wanted;
use crate::way_in::{self, WayIn};

const DLSYM: Name = Name::new(c"dlsym");

/// The C library's: where it lies.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// Something else defines the function, too, and stands in front of it.
static IS_CONTESTED: AtomicBool = AtomicBool::new(false);

/// Notes who defines `dlsym`: libc.so.6, or libdl.so.2 before glibc 2.34.
pub fn meet(object: &Loaded, definitions: &Definitions) {
    if definitions.find(DLSYM).is_none() {
        return;
    }
    if object.soname().is_some_and(|name| name == c"libc.so.6" || name == c"libdl.so.2") {
        START.store(object.start, Ordering::Relaxed);
        END.store(object.end, Ordering::Release);
        linker::meet_libc(definitions);
    } else {
        IS_CONTESTED.store(true, Ordering::Release);
    }
}

/// What goes into a slot of one of the two; `None` if it leads, or may lead, to another's function.
pub fn trampoline_for(object: &Loaded, value: usize, wanted: Wanted) -> Option<usize> {
    let is_original = (START.load(Ordering::Relaxed)..END.load(Ordering::Acquire)).contains(&value);
    let is_unbound = object.contains(value);
    let usable = (is_original || is_unbound) && !IS_CONTESTED.load(Ordering::Acquire);
    usable.then_some(match wanted {
        Wanted::Dlvsym => dlvsym_trampoline as *const () as usize,
        _ => dlsym_trampoline as *const () as usize,
    })
}

/// The original of one of the two trampolines.
pub fn definition_of(address: usize) -> Option<usize> {
    match address {
        _ if address == dlsym_trampoline as *const () as usize => Some(libc::dlsym as *const () as usize),
        _ if address == dlvsym_trampoline as *const () as usize => Some(dlvsym as *const () as usize),
        _ => None,
    }
}

// RTLD_DEFAULT (0) and RTLD_NEXT (-1) mean the caller's scope, which the original finds by its return address: it is jumped to, with the
// arguments and that address as they were. For any other handle it does not matter who calls.
macro_rules! trampoline {
    ($name:ident, $original:literal, $by_handle:path, $by_scope:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                ".cfi_startproc",
                "lea rax, [rdi + 1]",
                "cmp rax, 1",
                "ja {by_handle}",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "call {by_scope}",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "test rax, rax",
                "jnz 2f",
                concat!("jmp qword ptr [rip + ", $original, "@GOTPCREL]"),
                "2: ret",
                ".cfi_endproc",
                by_handle = sym $by_handle,
                by_scope = sym $by_scope,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                ".cfi_startproc",
                "add x9, x0, #1",
                "cmp x9, #1",
                "b.hi {by_handle}",
                "stp x29, x30, [sp, #-48]!",
                ".cfi_adjust_cfa_offset 48",
                ".cfi_rel_offset x29, 0",
                ".cfi_rel_offset x30, 8",
                "stp x0, x1, [sp, #16]",
                "str x2, [sp, #32]",
                "bl {by_scope}",
                "mov x9, x0",
                "ldp x0, x1, [sp, #16]",
                "ldr x2, [sp, #32]",
                "ldp x29, x30, [sp], #48",
                ".cfi_adjust_cfa_offset -48",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "cbnz x9, 2f",
                concat!("adrp x9, :got:", $original),
                concat!("ldr x9, [x9, :got_lo12:", $original, "]"),
                "br x9",
                "2: mov x0, x9",
                "ret",
                ".cfi_endproc",
                by_handle = sym $by_handle,
                by_scope = sym $by_scope,
            );
        }
    };
}

trampoline!(dlsym_trampoline, "dlsym", dlsym_by_handle, by_scope);
trampoline!(dlvsym_trampoline, "dlvsym", dlvsym_by_handle, by_scope);

unsafe extern "C" fn dlsym_by_handle(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    before();
    // SAFETY: the program's own arguments.
    let found = unsafe { libc::dlsym(handle, name) };
    // SAFETY: the original has read the name.
    unsafe { after(name, found) }
}

unsafe extern "C" fn dlvsym_by_handle(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void {
    before();
    // SAFETY: the program's own arguments.
    let found = unsafe { dlvsym(handle, name, version) };
    // SAFETY: the original has read the name.
    unsafe { after(name, found) }
}

/// The trampoline for a hooked function in the scope of whoever calls, or null. It is only known where there is just one function of that name in
/// the process, and the global scope has it.
unsafe extern "C" fn by_scope(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    before();
    if name.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the program passes a NUL-terminated name.
    let name = unsafe { CStr::from_ptr(name) };
    let found = quietly(|| {
        let way = way_in::active()?;
        let wanted = way.names.find_text(name)?;
        let Wanted::Hook(family, hook) = wanted else {
            note(way, wanted);
            return None;
        };
        let (family, hook) = (way.families[usize::from(family)], usize::from(hook));
        let mut copies = family.copies().filter(|(_, copy)| copy.find(family.hooks[hook].name).is_some());
        let (number, copy) = copies.next().filter(|_| copies.next().is_none())?;
        if handle != libc::RTLD_DEFAULT || family.has_other_definition(hook) {
            return None;
        }
        // SAFETY: a search by a NUL-terminated name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        (copy.find(family.hooks[hook].name) == Some(found))
            .then(|| (family.hooks[hook].trampoline)(Caller::new(number, Origin::Program).number()))
    });
    found.unwrap_or(0) as *mut c_void
}

/// What was loaded since is looked through before the original: it, too, forgets an earlier error of `dlerror`.
fn before() {
    quietly(|| {
        way_in::look();
        Some(())
    });
}

/// # Safety
/// A NUL-terminated name, or null.
unsafe fn after(name: *const c_char, found: *mut c_void) -> *mut c_void {
    if found.is_null() || name.is_null() {
        return found;
    }
    // SAFETY: as the caller states.
    let name = unsafe { CStr::from_ptr(name) };
    let exchanged = quietly(|| {
        let way = way_in::active()?;
        let wanted = way.names.find_text(name)?;
        let Wanted::Hook(family, hook) = wanted else {
            note(way, wanted);
            return None;
        };
        let (family, hook) = (way.families[usize::from(family)], usize::from(hook));
        let hooked = &family.hooks[hook];
        let (number, _) = family.copies().find(|(_, copy)| copy.find(hooked.name) == Some(found as usize))?;
        Some((hooked.trampoline)(Caller::new(number, Origin::Program).number()))
    });
    exchanged.map_or(found, |trampoline| trampoline as *mut c_void)
}

fn note(way: &WayIn, wanted: Wanted) {
    if wanted == Wanted::Noticed {
        way.notice();
        way.tell();
    }
}

/// Runs our own part of a call: no error number, cancellation or panic of it reaches the program.
fn quietly<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    let _errno = KeptErrno::new();
    let _uncancelled = uncancelled();
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(None)
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}
