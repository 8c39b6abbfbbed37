//! Objects of a TLS library that were made from a store's anchors and CRLs, and that live as long as the store: made
//! once, however many contexts use them.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use windlass::RootStore;
use windlass_interpose::append_list::AppendList;
use windlass_interpose::reserve::try_box;

use crate::border::{held, shielded};
use crate::store::Store;

/// Releases a reference to an object.
pub type Release = unsafe extern "C" fn(*mut c_void);

/// The objects of all libraries.
pub struct Objects(AppendList<OfLibrary>);

/// The objects of one copy of a library.
struct OfLibrary {
    /// An address in that copy.
    key: usize,
    /// By kind (`WINDLASS_ANCHOR`, `WINDLASS_CRL`), then by place.
    kinds: [Box<[Slot]>; 2],
}

/// Null, or from `Box::into_raw`.
struct Slot(AtomicPtr<Object>);

/// An object, and what releases the store's reference to it.
struct Object {
    object: *mut c_void,
    release: Release,
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: `windlass_store_share` got both from the caller, with the reference, which nobody else has.
        unsafe { (self.release)(self.object) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let object = *self.0.get_mut();
        if !object.is_null() {
            // SAFETY: as the field says.
            drop(unsafe { Box::from_raw(object) });
        }
    }
}

impl Slot {
    fn object(&self) -> Option<*mut c_void> {
        // SAFETY: as the field says; it is freed with the slot.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }.map(|object| object.object)
    }

    /// Keeps the object, or releases it if there is one already. None, and nothing happens, without memory.
    fn keep(&self, object: *mut c_void, release: Release) -> Option<*mut c_void> {
        let fresh = Box::into_raw(try_box(Object { object, release })?);
        match self.0.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(object),
            Err(winner) => {
                // SAFETY: `fresh` was not published; the winner is freed with the slot.
                unsafe {
                    drop(Box::from_raw(fresh));
                    Some((*winner).object)
                }
            }
        }
    }
}

impl Objects {
    /// None yet.
    pub fn none() -> Objects {
        Objects(AppendList::new())
    }

    fn has(&self, key: *const c_void) -> bool {
        self.0.iter().any(|library| library.key == key as usize)
    }

    fn slot(&self, key: *const c_void, kind: c_int, index: usize) -> Option<&Slot> {
        // Should two threads add the same library at once, both go on with the first entry.
        let library = self.0.iter().find(|library| library.key == key as usize)?;
        library.kinds.get(usize::try_from(kind).ok()?)?.get(index)
    }

    /// Makes room for the objects of one more library.
    fn add(&self, key: *const c_void, roots: &RootStore) -> Option<()> {
        let kinds = [slots(roots.len())?, slots(roots.crl_count())?];
        self.0.try_push(OfLibrary { key: key as usize, kinds }).then_some(())
    }
}

fn slots(count: usize) -> Option<Box<[Slot]>> {
    let mut slots = Vec::new();
    slots.try_reserve_exact(count).ok()?;
    slots.extend((0..count).map(|_| Slot(AtomicPtr::new(ptr::null_mut()))));
    Some(slots.into_boxed_slice())
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_object(
    store: *const Store,
    key: *const c_void,
    kind: c_int,
    index: usize,
) -> *mut c_void {
    // SAFETY: as above.
    let find = || unsafe { held(store) }.ok()?.objects.slot(key, kind, index)?.object();
    shielded(find).flatten().unwrap_or(ptr::null_mut())
}

/// See windlass.h.
///
/// # Safety
/// `store` is null or a reference of the caller; `release` releases references to `object`, of which the caller gives
/// up one unless the result is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_store_share(
    store: *const Store,
    key: *const c_void,
    kind: c_int,
    index: usize,
    object: *mut c_void,
    release: Option<Release>,
) -> *mut c_void {
    let share = || {
        let (release, object) = (release?, ptr::NonNull::new(object)?.as_ptr());
        // SAFETY: as above.
        let store = unsafe { held(store) }.ok()?;
        if !store.objects.has(key) {
            store.objects.add(key, store.roots())?;
        }
        store.objects.slot(key, kind, index)?.keep(object, release)
    };
    shielded(share).flatten().unwrap_or(ptr::null_mut())
}
