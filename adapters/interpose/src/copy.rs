//! One copy of a foreign library, and keeping it loaded.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::definitions::Name;
use crate::dlsym;
use crate::elf::Loaded;

/// One copy of a foreign library. Its place is never reused for another.
pub struct Copy {
    state: AtomicU8,
    object: UnsafeCell<Option<Loaded>>,
    path: AtomicPtr<c_char>,
    pin: AtomicU8,
    from_before: AtomicBool,
    /// The hooks that it calls itself through slots that were written.
    own_calls: [AtomicU64; 2],
}

const FREE: u8 = 0;
const THERE: u8 = 1;
const GONE: u8 = 2;

const UNPINNED: u8 = 0;
const DUE: u8 = 1;
const PINNED: u8 = 2;

// SAFETY: `object` is written once, by the one thread that holds the linker's lock, before `state` says that it is
// there, and is only read afterwards. It points into the object's own mapping, which is read only while the object is
// loaded.
unsafe impl Sync for Copy {}
// SAFETY: as above.
unsafe impl Send for Copy {}

impl std::panic::RefUnwindSafe for Copy {}

impl Copy {
    pub(crate) const fn new() -> Copy {
        Copy {
            state: AtomicU8::new(FREE),
            object: UnsafeCell::new(None),
            path: AtomicPtr::new(ptr::null_mut()),
            pin: AtomicU8::new(UNPINNED),
            from_before: AtomicBool::new(false),
            own_calls: [const { AtomicU64::new(0) }; 2],
        }
    }

    /// The loaded object; None if it is not loaded.
    pub fn object(&self) -> Option<&Loaded> {
        if self.state.load(Ordering::Acquire) != THERE {
            return None;
        }
        // SAFETY: written before the state was set.
        unsafe { (*self.object.get()).as_ref() }
    }

    /// Its path, valid as long as it is loaded.
    pub fn path(&self) -> *const c_char {
        self.path.load(Ordering::Acquire)
    }

    /// Asks for it to stay loaded: calls of it go on without the linker's knowledge.
    pub(crate) fn want_pinned(&self) {
        let _ = self.pin.compare_exchange(UNPINNED, DUE, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn note_pinned(&self) {
        self.pin.store(PINNED, Ordering::Release);
    }

    pub(crate) fn is_to_be_pinned(&self) -> bool {
        self.pin.load(Ordering::Relaxed) == DUE
    }

    /// Keeps it loaded, without loading anything, as libcrypto pins itself at its first use. Returns whether it could.
    /// It waits for the linker's lock; a copy of a [resident](crate::family::Family::resident) family was pinned
    /// earlier, by the thread that met it with that lock held.
    pub fn pin(&self) -> bool {
        let path = self.path();
        if self.pin.load(Ordering::Acquire) != PINNED && !path.is_null() {
            // SAFETY: the path of a loaded object, whose code may be called. RTLD_NOLOAD opens nothing new.
            let handle = unsafe { dlsym::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            if handle.is_null() {
                dlsym::forget_error();
            } else {
                self.pin.store(PINNED, Ordering::Release);
            }
        }
        self.pin.load(Ordering::Acquire) == PINNED
    }

    /// Whether it was loaded when this library was attached to a running program, in which something may have taken
    /// addresses of its functions before: their calls are not seen.
    pub fn is_from_before(&self) -> bool {
        self.from_before.load(Ordering::Acquire)
    }

    pub(crate) fn set_from_before(&self, is_from_before: bool) {
        self.from_before.store(is_from_before, Ordering::Release);
    }

    /// The address of a function that it defines.
    pub fn find(&self, name: Name) -> Option<usize> {
        self.object()?.definitions()?.find(name)
    }

    /// Whether it contains an address.
    pub fn contains(&self, address: usize) -> bool {
        self.object().is_some_and(|object| object.contains(address))
    }

    /// Whether this place was never used.
    pub(crate) fn is_free(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FREE
    }

    /// Whether the copy at this place was unloaded.
    pub(crate) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Relaxed) == GONE
    }

    /// Notes that it is loaded, for the first time or [again](Copy::was). The linker's lock is held.
    pub(crate) fn arrive(&self, object: &Loaded, is_resident: bool) {
        if self.is_free() {
            // SAFETY: nobody reads it before the state is set; only one thread at a time is here.
            unsafe { *self.object.get() = Some(*object) };
        }
        self.note_path(object);
        self.pin.store(if is_resident { DUE } else { UNPINNED }, Ordering::Relaxed);
        self.state.store(THERE, Ordering::Release);
    }

    /// Notes its path: it may have been closed and opened again since, and its path is another string then.
    pub(crate) fn note_path(&self, object: &Loaded) {
        self.path.store(object.path.cast_mut(), Ordering::Release);
    }

    /// Notes that it was unloaded.
    pub(crate) fn leave(&self) {
        self.state.store(GONE, Ordering::Release);
    }

    /// See [`Family::sees_own_call`](crate::family::Family::sees_own_call).
    pub(crate) fn has_noted_own_call(&self, hook: usize) -> bool {
        self.own_calls[hook / 64 % 2].load(Ordering::Relaxed) >> (hook % 64) & 1 == 1
    }

    pub(crate) fn note_own_call(&self, hook: usize) {
        self.own_calls[hook / 64 % 2].fetch_or(1 << (hook % 64), Ordering::Relaxed);
    }

    /// Whether this is the same file at the same address.
    pub(crate) fn was(&self, object: &Loaded) -> bool {
        // SAFETY: only the thread that holds the linker's lock writes.
        let known = unsafe { &*self.object.get() };
        known.is_some_and(|known| {
            (known.base, known.start, known.end, known.dynamic)
                == (object.base, object.start, object.end, object.dynamic)
        })
    }
}
