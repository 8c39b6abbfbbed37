//! `dlsym` and `dlvsym`, as the objects of a program call them: if the result is a hooked function of a known copy, its
//! trampoline is returned instead.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::definitions::{Definitions, Name};
use crate::elf::{Loaded, Slot};
use crate::family::{Caller, Family, Origin};
use crate::hook::{KeptErrno, uncancelled};
use crate::linker;
use crate::wanted::Wanted;
use crate::way_in::{self, WayIn};

pub(crate) const DLSYM: Name = Name::new(c"dlsym");
pub(crate) const DLVSYM: Name = Name::new(c"dlvsym");
const DLOPEN: Name = Name::new(c"dlopen");
const DLERROR: Name = Name::new(c"dlerror");

/// The C library: its address, and those of the two functions. Their names can lead elsewhere, even from here: to an
/// executable's PLT entry, or to a function of our own that replaces them where there is no libdl.so.2.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
static ORIGINAL_DLSYM: AtomicUsize = AtomicUsize::new(0);
static ORIGINAL_DLVSYM: AtomicUsize = AtomicUsize::new(0);
/// Other functions of the same library that we use ourselves.
static DLOPEN_FOUND: AtomicUsize = AtomicUsize::new(0);
static DLERROR_FOUND: AtomicUsize = AtomicUsize::new(0);
/// The functions that the trampolines go on to: these, or the trampolines of a library behind us.
static NEXT_DLSYM: AtomicUsize = AtomicUsize::new(0);
static NEXT_DLVSYM: AtomicUsize = AtomicUsize::new(0);
/// Set when something else also defines the function, in front of the C library.
static IS_CONTESTED: AtomicBool = AtomicBool::new(false);

/// Notes the C library, and the object that defines `dlsym`: the same, or libdl.so.2 before glibc 2.34.
pub fn meet(object: &Loaded, definitions: &Definitions) {
    let is_libc = object.soname() == Some(linker::LIBC);
    if is_libc {
        linker::meet_libc(definitions);
    }
    let Some(dlsym) = definitions.find(DLSYM) else { return };
    if is_libc || object.soname() == Some(c"libdl.so.2") {
        START.store(object.start, Ordering::Relaxed);
        END.store(object.end, Ordering::Release);
        let dlvsym = definitions.find(DLVSYM).unwrap_or(0);
        for (original, next, found) in [(&ORIGINAL_DLSYM, &NEXT_DLSYM, dlsym), (&ORIGINAL_DLVSYM, &NEXT_DLVSYM, dlvsym)]
        {
            original.store(found, Ordering::Release);
            let _ = next.compare_exchange(0, found, Ordering::AcqRel, Ordering::Relaxed);
        }
        DLOPEN_FOUND.store(definitions.find(DLOPEN).unwrap_or(0), Ordering::Release);
        DLERROR_FOUND.store(definitions.find(DLERROR).unwrap_or(0), Ordering::Release);
    } else {
        IS_CONTESTED.store(true, Ordering::Release);
    }
}

/// The two functions: each one's trampoline, its original, and the variable with the target of its trampoline.
fn both() -> [(usize, &'static AtomicUsize, &'static AtomicUsize); 2] {
    [
        (dlsym_trampoline as *const () as usize, &ORIGINAL_DLSYM, &NEXT_DLSYM),
        (dlvsym_trampoline as *const () as usize, &ORIGINAL_DLVSYM, &NEXT_DLVSYM),
    ]
}

/// The new value for a slot of one of the two; `None` if it leads, or may lead, to another library's function.
pub fn trampoline_for(way: &WayIn, object: &Loaded, slot: &Slot, value: usize, wanted: Wanted) -> Option<usize> {
    let (trampoline, original, next) = both()[usize::from(wanted == Wanted::Dlvsym)];
    if way.sibling.definition(value).is_some_and(|definition| definition == original.load(Ordering::Acquire)) {
        next.store(value, Ordering::Release);
        return Some(trampoline);
    }
    let is_original = (START.load(Ordering::Relaxed)..END.load(Ordering::Acquire)).contains(&value);
    let is_unbound = object.is_unbound(slot, value);
    let usable = (is_original || is_unbound) && !IS_CONTESTED.load(Ordering::Acquire);
    (usable && next.load(Ordering::Acquire) != 0).then_some(trampoline)
}

/// The original of one of the two trampolines.
pub fn definition_of(address: usize) -> Option<usize> {
    both()
        .iter()
        .find(|(trampoline, ..)| *trampoline == address)
        .map(|(_, original, _)| original.load(Ordering::Acquire))
}

/// The variable through which one of the two trampolines goes on.
pub fn next_of(address: usize) -> Option<&'static AtomicUsize> {
    both().iter().find(|(trampoline, ..)| *trampoline == address).map(|(.., next)| *next)
}

/// The C library's `dlsym`, for our own searches.
///
/// # Safety
/// As for `dlsym`.
pub unsafe fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: as the caller states.
    unsafe { call_dlsym(&ORIGINAL_DLSYM, handle, name) }
}

/// The C library's `dlvsym`.
///
/// # Safety
/// As for `dlvsym`.
pub unsafe fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void {
    // SAFETY: as the caller states.
    unsafe { call_dlvsym(&ORIGINAL_DLVSYM, handle, name, version) }
}

/// The C library's `dlopen`, for libraries that are already loaded. Null if it does not exist, in which case no library
/// was opened by it either.
///
/// # Safety
/// As for `dlopen`.
pub unsafe fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    type Function = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    match DLOPEN_FOUND.load(Ordering::Acquire) {
        0 => ptr::null_mut(),
        // SAFETY: the C library's function of this type.
        address => unsafe { std::mem::transmute::<usize, Function>(address)(path, flags) },
    }
}

/// Makes the C library forget the error that a search of ours has left for this thread.
pub fn forget_error() {
    type Function = unsafe extern "C" fn() -> *mut c_char;
    match DLERROR_FOUND.load(Ordering::Acquire) {
        0 => {}
        // SAFETY: the C library's function of this type.
        address => drop(unsafe { std::mem::transmute::<usize, Function>(address)() }),
    }
}

unsafe fn call_dlsym(function: &AtomicUsize, handle: *mut c_void, name: *const c_char) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    match function.load(Ordering::Acquire) {
        0 => ptr::null_mut(),
        // SAFETY: the C library's function of this type, or a trampoline in front of it.
        address => unsafe { std::mem::transmute::<usize, Function>(address)(handle, name) },
    }
}

unsafe fn call_dlvsym(
    function: &AtomicUsize,
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    match function.load(Ordering::Acquire) {
        0 => ptr::null_mut(),
        // SAFETY: as in `call_dlsym`.
        address => unsafe { std::mem::transmute::<usize, Function>(address)(handle, name, version) },
    }
}

// RTLD_DEFAULT (0) and RTLD_NEXT (-1) mean the caller's scope, which the original finds by its return address: the
// trampoline jumps to it, with the arguments and that address unchanged. For any other handle the caller does not
// matter.
macro_rules! trampoline {
    ($name:ident, $next:path, $by_handle:path, $by_scope:path) => {
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
                // The return address identifies the caller.
                "mov rcx, [rsp + 24]",
                "call {by_scope}",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "test rax, rax",
                "jnz 2f",
                "jmp qword ptr [rip + {next}]",
                "2: ret",
                ".cfi_endproc",
                by_handle = sym $by_handle,
                by_scope = sym $by_scope,
                next = sym $next,
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
                "mov x3, x30",
                "bl {by_scope}",
                "mov x9, x0",
                "ldp x0, x1, [sp, #16]",
                "ldr x2, [sp, #32]",
                "ldp x29, x30, [sp], #48",
                ".cfi_adjust_cfa_offset -48",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "cbnz x9, 2f",
                "adrp x9, {next}",
                "ldr x9, [x9, :lo12:{next}]",
                "br x9",
                "2: mov x0, x9",
                "ret",
                ".cfi_endproc",
                by_handle = sym $by_handle,
                by_scope = sym $by_scope,
                next = sym $next,
            );
        }
    };
}

trampoline!(dlsym_trampoline, NEXT_DLSYM, dlsym_by_handle, dlsym_by_scope);
trampoline!(dlvsym_trampoline, NEXT_DLVSYM, dlvsym_by_handle, dlvsym_by_scope);

unsafe extern "C" fn dlsym_by_handle(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    before();
    // SAFETY: the program's own arguments.
    let found = unsafe { call_dlsym(&NEXT_DLSYM, handle, name) };
    // SAFETY: the original has read the name.
    unsafe { after(name, found) }
}

unsafe extern "C" fn dlvsym_by_handle(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void {
    before();
    // SAFETY: the program's own arguments.
    let found = unsafe { call_dlvsym(&NEXT_DLVSYM, handle, name, version) };
    // SAFETY: the original has read the name.
    unsafe { after(name, found) }
}

/// The trampoline for a hooked function in the caller's scope, or null. It is only known if there is just one function
/// of that name in the process, and the global scope has it: for `RTLD_NEXT` the executable comes first in that scope,
/// and everything else comes after it.
unsafe extern "C" fn dlsym_by_scope(
    handle: *mut c_void,
    name: *const c_char,
    _not_an_argument: usize,
    caller: usize,
) -> *mut c_void {
    // SAFETY: as the caller states.
    unsafe { by_scope(handle, name, caller, || call_dlsym(&NEXT_DLSYM, libc::RTLD_DEFAULT, name)) }
}

/// As `dlsym_by_scope`, for `dlvsym`.
unsafe extern "C" fn dlvsym_by_scope(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> *mut c_void {
    // SAFETY: as the caller states.
    unsafe { by_scope(handle, name, caller, || call_dlvsym(&NEXT_DLVSYM, libc::RTLD_DEFAULT, name, version)) }
}

/// # Safety
/// A NUL-terminated name, or null.
unsafe fn by_scope(
    handle: *mut c_void,
    name: *const c_char,
    caller: usize,
    global: impl Fn() -> *mut c_void,
) -> *mut c_void {
    before();
    // SAFETY: as the caller states.
    if !unsafe { matters(name) } {
        return ptr::null_mut();
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    let found = quietly(|| {
        let way = way_in::active()?;
        let exchanged = in_scope(way, handle, name, caller, || global() as usize);
        // The program is about to get an address whose calls are not seen.
        match way.names.find_text(name) {
            Some(Wanted::Dlsym | Wanted::Dlvsym) if exchanged.is_none() => way.hide(u32::MAX),
            Some(Wanted::Hook(family, _)) if exchanged.is_none() && !way.families[usize::from(family)].is_absent() => {
                way.hide(1 << family);
            }
            _ => {}
        }
        exchanged
    });
    found.unwrap_or(0) as *mut c_void
}

fn in_scope(way: &WayIn, handle: *mut c_void, name: &CStr, caller: usize, global: impl Fn() -> usize) -> Option<usize> {
    // Only the C library defines these two, or the definition that is meant is unknown.
    if !IS_CONTESTED.load(Ordering::Acquire)
        && let Some(trampoline) = own_trampoline(way, name, &global)
    {
        return Some(trampoline);
    }
    let is_of_executable = || linker::executable().is_some_and(|executable| executable.contains(caller));
    if handle != libc::RTLD_DEFAULT && !is_of_executable() {
        return None;
    }
    let (family, hook) = hook_of(way, name)?;
    if family.copies().nth(1).is_some() || linker::is_out_of_reach() || is_defined_elsewhere(family, hook) {
        return None;
    }
    exchange(way, family, hook, global())
}

/// Whether an object that is no copy, such as another interposer, also defines a hooked function.
fn is_defined_elsewhere(family: &Family, hook: usize) -> bool {
    let mut found = false;
    linker::each_object(0, |object| {
        let defines = |definitions: Definitions| definitions.any_symbol(family.hooks()[hook].name).is_some();
        found = object.definitions().is_some_and(defines) && !family.is_one(object);
        !found
    });
    found
}

/// Looks through newly loaded objects before the original is called: it also clears an earlier error of `dlerror`.
fn before() {
    if way_in::has_news() {
        quietly(|| {
            way_in::look();
            Some(())
        });
    }
}

/// Whether a name matters. Nothing else is done for other names: a sanitizer asks for them before its own functions
/// work, and one of those may stand in front of a function that we call.
///
/// # Safety
/// A NUL-terminated name, or null.
unsafe fn matters(name: *const c_char) -> bool {
    // SAFETY: as the caller states.
    !name.is_null()
        && way_in::active().is_some_and(|way| way.names.find_text(unsafe { CStr::from_ptr(name) }).is_some())
}

/// # Safety
/// A NUL-terminated name, or null.
unsafe fn after(name: *const c_char, found: *mut c_void) -> *mut c_void {
    // SAFETY: as the caller states.
    if found.is_null() || !unsafe { matters(name) } {
        return found;
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    let exchanged = quietly(|| {
        let way = way_in::active()?;
        if let Some(trampoline) = own_trampoline(way, name, || found as usize) {
            return Some(trampoline);
        }
        let (family, hook) = hook_of(way, name)?;
        exchange(way, family, hook, found as usize)
    });
    exchanged.map_or(found, |trampoline| trampoline as *mut c_void)
}

/// The trampoline of `dlsym` and `dlvsym` for callers that search for these two functions themselves (SBCL).
fn own_trampoline(way: &WayIn, name: &CStr, found: impl FnOnce() -> usize) -> Option<usize> {
    let at = match way.names.find_text(name)? {
        Wanted::Dlsym => 0,
        Wanted::Dlvsym => 1,
        _ => return None,
    };
    let (trampoline, original, _) = both()[at];
    (found() == original.load(Ordering::Acquire)).then_some(trampoline)
}

/// The hook of this name. Names that are only noticed are noted here.
fn hook_of(way: &WayIn, name: &CStr) -> Option<(&'static Family, usize)> {
    match way.names.find_text(name)? {
        Wanted::Hook(family, hook) => Some((way.families[usize::from(family)], usize::from(hook))),
        Wanted::Noticed(_) => {
            way.notice();
            way.tell();
            None
        }
        _ => None,
    }
}

/// The trampoline for the result of a search.
fn exchange(way: &WayIn, family: &'static Family, hook: usize, found: usize) -> Option<usize> {
    let hooked = &family.hooks()[hook];
    let definition = way.sibling.definition(found).unwrap_or(found);
    // Nothing is read of a copy that another thread may be unloading: a thread that has an address in a copy keeps it
    // loaded.
    let mut copies = family.copies().filter(|(_, copy)| copy.contains(definition));
    let (number, _) = copies.find(|(_, copy)| copy.find(hooked.name) == Some(definition))?;
    let caller = Caller::new(number, Origin::Program);
    family.claim(&way.sibling, caller, hook, found).then(|| (hooked.trampoline)(caller.number()))
}

/// Runs our own part of a call: none of its errno changes, cancellations or panics reaches the program.
fn quietly<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    let _errno = KeptErrno::new();
    let _uncancelled = uncancelled();
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(None)
}
