//! Which foreign library an object means: found out at its first call, remembered for the others.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::fork_lock::ForkLock;
use crate::object::Object;

const SLOTS: usize = 64;

/// Remembered answers. An object that was unloaded leaves its slot behind; another one at the same addresses, with its
/// dynamic section at the same place and of the same path, is that same file again.
pub struct Callers<L: 'static> {
    slots: [Slot<L>; SLOTS],
    writing: ForkLock,
}

struct Slot<L> {
    map: AtomicUsize,
    identity: AtomicUsize,
    library: AtomicPtr<L>,
    flag: AtomicBool,
}

/// What is remembered of one object.
pub struct Remembered<L: 'static> {
    /// The library that it means.
    pub library: &'static L,
    /// What else was noted of it.
    pub flag: bool,
}

impl<L> Callers<L> {
    /// Nobody has called yet.
    pub const fn new() -> Self {
        Callers {
            slots: [const {
                Slot {
                    map: AtomicUsize::new(0),
                    identity: AtomicUsize::new(0),
                    library: AtomicPtr::new(ptr::null_mut()),
                    flag: AtomicBool::new(false),
                }
            }; SLOTS],
            writing: ForkLock::new(),
        }
    }

    /// What is remembered of an object.
    pub fn find(&self, object: &Object) -> Option<Remembered<L>> {
        for slot in &self.slots {
            match slot.map.load(Ordering::Acquire) {
                0 => return None,
                known
                    if known == object.link_map as usize
                        && slot.identity.load(Ordering::Relaxed) == identity(object) =>
                {
                    // SAFETY: stored before `map` was published, from a reference that lives for ever.
                    let library = unsafe { slot.library.load(Ordering::Relaxed).as_ref() }?;
                    return Some(Remembered { library, flag: slot.flag.load(Ordering::Relaxed) });
                }
                _ => {}
            }
        }
        None
    }

    /// Remembers an object. Whether this is news: not so if it was known, or if there is no room.
    pub fn remember(&self, object: &Object, library: &'static L, flag: bool) -> bool {
        let _guard = self.writing.lock();
        if self.find(object).is_some() {
            return false;
        }
        let free = self.slots.iter().find(|slot| slot.map.load(Ordering::Relaxed) == 0);
        if let Some(slot) = free {
            slot.identity.store(identity(object), Ordering::Relaxed);
            slot.library.store(ptr::from_ref(library).cast_mut(), Ordering::Relaxed);
            slot.flag.store(flag, Ordering::Relaxed);
            slot.map.store(object.link_map as usize, Ordering::Release);
        }
        free.is_some()
    }
}

/// Where the dynamic section is, and the path: programs with plugins of one form load one to where another one was.
fn identity(object: &Object) -> usize {
    // SAFETY: the link map of a loaded object.
    let (section, path) = unsafe { ((*object.link_map).l_ld as usize, (*object.link_map).l_name) };
    // SAFETY: a NUL-terminated string that lives as long as the link map.
    let path = if path.is_null() { &[] } else { unsafe { CStr::from_ptr(path) }.to_bytes() };
    let (words, rest) = path.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word)).chain(rest.iter().map(|&byte| byte.into()));
    words.fold(section as u64, |hash, word| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)) as usize
}
