//! The dynamic linker: the loaded objects, and its lock.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::definitions::{Definitions, Name};
use crate::dlsym;
use crate::elf::{Debug, Link, Loaded};
use crate::fork_gate;

/// Calls `visit` with each loaded object that has a dynamic section, except this library itself, starting at this
/// number in the order of loading, until `visit` has seen enough. Returns the number of objects if it saw them all.
///
/// The objects can't be unloaded meanwhile: `dl_iterate_phdr` holds `dl_load_write_lock`. `visit` must call nothing
/// that waits for another thread.
pub fn each_object(from: usize, mut visit: impl FnMut(&Loaded) -> bool) -> usize {
    struct Visitor<'a> {
        from: usize,
        number: usize,
        visit: &'a mut dyn FnMut(&Loaded) -> bool,
    }
    unsafe extern "C" fn step(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid record, and the visitor unchanged.
        let (info, visitor) = unsafe { (&*info, &mut *data.cast::<Visitor>()) };
        visitor.number += 1;
        if visitor.number <= visitor.from {
            return 0;
        }
        // SAFETY: as above; the object stays loaded as long as this callback runs.
        let Some(object) = (unsafe { Loaded::of(info) }) else { return 0 };
        c_int::from(!object.contains(step as *const () as usize) && !(visitor.visit)(&object))
    }
    let mut visitor = Visitor { from, number: 0, visit: &mut visit };
    // SAFETY: the callback keeps nothing, and gets the visitor back, which outlives the call.
    unsafe { iterate(Some(step), (&raw mut visitor).cast()) };
    visitor.number
}

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The C library's `dl_iterate_phdr`. A replacement in front of it may not be callable from within its own callback
/// (fakechroot).
static ITERATE: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// As for `dl_iterate_phdr`.
unsafe fn iterate(visit: Option<Visit>, data: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(Option<Visit>, *mut c_void) -> c_int;
    fork_gate::pass(|| match ITERATE.load(Ordering::Acquire) {
        // SAFETY: as the caller states.
        0 => unsafe { libc::dl_iterate_phdr(visit, data) },
        // SAFETY: as the caller states; the C library's function of this type.
        address => unsafe { std::mem::transmute::<usize, Function>(address)(visit, data) },
    })
}

/// The address range of this library.
pub fn own_range() -> Range<usize> {
    static START: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    if END.load(Ordering::Acquire) == 0
        && let Some(own) = object_at(own_range as *const () as usize)
    {
        START.store(own.start, Ordering::Relaxed);
        END.store(own.end, Ordering::Release);
    }
    START.load(Ordering::Relaxed)..END.load(Ordering::Acquire)
}

/// The loaded object that contains an address.
pub fn object_at(address: usize) -> Option<Loaded> {
    unsafe extern "C" fn find(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid record, and the search unchanged; the object stays loaded as long as
        // this callback runs.
        let (object, (address, found)) =
            unsafe { (Loaded::of(&*info), &mut *search.cast::<(usize, Option<Loaded>)>()) };
        *found = object.filter(|object| object.contains(*address));
        c_int::from(found.is_some())
    }
    let mut search: (usize, Option<Loaded>) = (address, None);
    // SAFETY: the callback keeps nothing, and gets the search back, which outlives the call.
    unsafe { iterate(Some(find), (&raw mut search).cast()) };
    search.1
}

/// The executable, which is the first object, and stays loaded.
pub fn executable() -> Option<&'static Loaded> {
    // SAFETY: written once, before the pointer.
    unsafe { EXECUTABLE.load(Ordering::Acquire).as_ref() }
}

/// Whether an address is the executable's own entry for a function, which stands for it wherever its address is taken:
/// calls go on through the executable's slot.
pub fn is_stand_in(name: Name, address: usize) -> bool {
    executable().is_some_and(|executable| {
        let symbol = executable.definitions().and_then(|definitions| definitions.stand_in(name));
        executable.contains(address) && symbol.and_then(|symbol| executable.stand_in(symbol)) == Some(address)
    })
}

static EXECUTABLE: AtomicPtr<Loaded> = AtomicPtr::new(ptr::null_mut());

struct MetExecutable(UnsafeCell<MaybeUninit<Loaded>>);

// SAFETY: written by the one thread that holds the linker's lock.
unsafe impl Sync for MetExecutable {}

/// Notes the executable.
pub fn meet_executable(object: &Loaded) {
    static MET: MetExecutable = MetExecutable(UnsafeCell::new(MaybeUninit::uninit()));
    if object.is_executable() && EXECUTABLE.load(Ordering::Relaxed).is_null() {
        // SAFETY: nobody reads it before the pointer is set.
        let place = unsafe { (*MET.0.get()).write(*object) };
        EXECUTABLE.store(place, Ordering::Release);
    }
}

/// The numbers of additions and removals of objects so far.
pub fn counters() -> (u64, u64) {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, size: usize, data: *mut c_void) -> c_int {
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: a record of this size, and the pair that was passed.
            unsafe { *data.cast() = ((*info).dlpi_adds, (*info).dlpi_subs) };
        }
        1
    }
    let mut counters = (0, 0);
    // SAFETY: the callback keeps nothing.
    unsafe { iterate(Some(first), (&raw mut counters).cast::<(u64, u64)>().cast()) };
    counters
}

/// The size of a page.
pub fn page_size() -> usize {
    // SAFETY: no preconditions; the value is in the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_PAGESZ) as usize }.max(4096)
}

thread_local! {
    /// The job that this thread wants to run with the linker's lock held.
    static JOB: Cell<Option<*mut Job<'static>>> = const { Cell::new(None) };
}

type Job<'a> = &'a mut dyn FnMut();

/// Runs `job` while no other thread can be inside `dlopen` or `dlclose`: no object is half-relocated then, and the
/// linker has made read-only everything that it is going to.
///
/// `dlsym` holds `dl_load_lock` while it asks a function of type `STT_GNU_IFUNC` for its address (elf/dl-sym.c).
/// `resolver` is the name of such a function in this library, made by [`resolver!`](crate::resolver). False if it could
/// not be found: nothing was done then.
pub fn locked(resolver: &CStr, mut job: impl FnMut()) -> bool {
    let mut done = false;
    {
        let mut whole = || {
            job();
            done = true;
        };
        let mut whole: Job = &mut whole;
        JOB.set(Some((&raw mut whole).cast()));
        // SAFETY: a search by name. This library is in the scope of its own calls.
        let found = unsafe { dlsym::dlsym(libc::RTLD_DEFAULT, resolver.as_ptr()) };
        JOB.set(None);
        if found.is_null() {
            dlsym::forget_error();
        }
    }
    done
}

/// The body of a resolver.
pub extern "C" fn run_job() -> *const c_void {
    if let Some(job) = JOB.take() {
        // SAFETY: `locked` on this thread has set it and has not returned. Without this, a panic would end in this
        // function, inside the linker.
        let _ = catch_unwind(AssertUnwindSafe(|| unsafe { (*job)() }));
    }
    run_job as *const c_void
}

/// Exports a function of type `STT_GNU_IFUNC`, for [`locked`].
#[macro_export]
macro_rules! resolver {
    ($name:ident) => {
        /// Do not call this: see `windlass_interpose::linker::locked`.
        ///
        /// # Safety
        /// For the dynamic linker alone.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                concat!(".type ", stringify!($name), ", @gnu_indirect_function"),
                "jmp {run}",
                run = sym $crate::linker::run_job,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                concat!(".type ", stringify!($name), ", %gnu_indirect_function"),
                "b {run}",
                run = sym $crate::linker::run_job,
            );
        }
    };
}

/// Set in a child that was forked while other threads ran: one of them may hold `dl_load_write_lock`, which glibc's
/// `fork` passes on to nobody (2.36, sysdeps/nptl/fork.c), and `dl_iterate_phdr` would wait for ever.
static OUT_OF_REACH: AtomicBool = AtomicBool::new(false);
/// Whether this process had one thread when it forked.
static WAS_ALONE: AtomicBool = AtomicBool::new(false);
/// glibc's `__libc_single_threaded` (2.32).
static SINGLE_THREADED: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Whether the list of objects can't be asked for.
pub fn is_out_of_reach() -> bool {
    OUT_OF_REACH.load(Ordering::Relaxed)
}

/// The last object that was looked through: later objects stand behind it in the linker's own list.
static LAST_SEEN: AtomicPtr<Link> = AtomicPtr::new(ptr::null_mut());
/// Whether that list was consistent when this process was copied.
static WAS_CONSISTENT: AtomicBool = AtomicBool::new(false);

/// Notes that all objects were looked through. The linker's lock is held.
pub fn note_seen() {
    // SAFETY: nobody else loads or unloads any object.
    let last = list().and_then(|list| unsafe { list.entries() }.last());
    LAST_SEEN.store(last.map_or(ptr::null_mut(), |last| ptr::from_ref(last).cast_mut()), Ordering::Relaxed);
}

fn list() -> Option<&'static Debug> {
    // SAFETY: null, or the linker's, which stays.
    executable().and_then(|executable| unsafe { executable.list().as_ref() })
}

/// In a child where the objects can't be asked for, calls `visit` with each object loaded since the last look; with
/// `None` if they can't be determined.
pub fn each_unreached(mut visit: impl FnMut(Option<&Loaded>)) {
    let list = list();
    let last = LAST_SEEN.load(Ordering::Relaxed).cast_const();
    // Otherwise a thread that does not exist here was in the middle of changing it.
    let is_whole = !last.is_null() && WAS_CONSISTENT.load(Ordering::Relaxed);
    let Some(list) = list.filter(|_| is_whole) else { return visit(None) };
    let mut is_new = false;
    // SAFETY: a child of several threads has one, and few start others before they load something. A child that does,
    // and that unloads libraries in one thread while another begins with TLS, could change the list during this walk.
    for link in unsafe { list.entries() } {
        if is_new {
            // SAFETY: as above.
            visit(Some(&unsafe { Loaded::of_list(link) }));
        }
        is_new |= ptr::eq(link, last);
    }
    if !is_new {
        visit(None);
    }
}

/// The C library's soname.
pub const LIBC: &CStr = c"libc.so.6";

/// Notes the C library's definitions.
pub fn meet_libc(definitions: &Definitions) {
    const VARIABLE: Name = Name::new(c"__libc_single_threaded");
    if let Some(found) = definitions.find(VARIABLE) {
        SINGLE_THREADED.store(found as *mut c_char, Ordering::Relaxed);
    }
    ITERATE.store(definitions.find(Name::new(c"dl_iterate_phdr")).unwrap_or(0), Ordering::Release);
}

/// In a constructor: whether its library is one that the program starts with. The linker lists objects in the order in
/// which it has loaded them, and `dlopen` comes after the C library, which the program itself needs.
pub fn is_program_start() -> bool {
    unsafe extern "C" fn compare(info: *mut libc::dl_phdr_info, _size: usize, is_first: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid record, and the variable unchanged; the object stays loaded as long as
        // this callback runs.
        let (object, is_first) = unsafe { (Loaded::of(&*info), &mut *is_first.cast::<bool>()) };
        let Some(object) = object else { return 0 };
        *is_first = object.contains(compare as *const () as usize);
        c_int::from(*is_first || object.soname() == Some(LIBC))
    }
    let mut is_first = false;
    // SAFETY: the callback keeps nothing, and gets the variable back, which outlives the call.
    unsafe { iterate(Some(compare), (&raw mut is_first).cast()) };
    is_first
}

/// Call this once, when the library is loaded.
pub fn watch_forks() {
    unsafe extern "C" fn prepare() {
        let variable = SINGLE_THREADED.load(Ordering::Relaxed);
        // SAFETY: null, or a variable of the C library, which stays.
        let alone = unsafe { variable.as_ref() }.is_some_and(|alone| *alone != 0);
        WAS_ALONE.store(alone, Ordering::Relaxed);
        fork_gate::begin();
    }
    unsafe extern "C" fn parent() {
        fork_gate::end_in_parent();
    }
    unsafe extern "C" fn child() {
        fork_gate::end_in_child();
        if !WAS_ALONE.load(Ordering::Relaxed) && !OUT_OF_REACH.swap(true, Ordering::Relaxed) {
            WAS_CONSISTENT.store(list().is_some_and(Debug::is_consistent), Ordering::Relaxed);
        }
    }
    // SAFETY: the handlers only touch atomics and wait for a while; this library stays loaded (`-z nodelete`).
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}
