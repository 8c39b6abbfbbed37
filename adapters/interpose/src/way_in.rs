//! Attaching: the import slots of all loaded objects, looked through when the library is loaded, and again when objects
//! were added.
//!
//! The library exports no foreign name, and looks nothing up during a call. The value of a slot tells once and for all
//! which copy of a library is meant, and the slot gets the address of a trampoline for that copy.

use std::ffi::{CStr, c_void};
use std::ops::ControlFlow;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::definitions::Name;
use crate::elf::Loaded;
use crate::family::{Caller, Copy, Family, Hook};
use crate::scope::{self, Room};
use crate::sibling::Sibling;
use crate::wanted::Names;
use crate::wanted::Wanted;
use crate::{dlsym, linker, slots, taken, unwinding};

/// The hooks of a library, and the state of its attachment.
pub struct WayIn {
    /// The kinds of libraries.
    pub families: &'static [&'static Family],
    /// All names that matter.
    pub names: Names,
    /// The name of this library's `resolver!`.
    pub resolver: &'static CStr,
    /// Another of our libraries.
    pub sibling: Sibling,
    /// Called when somebody can call a function that is only noticed.
    pub on_noticed: fn(),
    /// Called when calls may go unseen from now on: [`Family::is_hidden`] of some family. Runs without the linker's
    /// lock.
    pub on_hidden: fn(),
    attached: AtomicBool,
    /// The number of objects, from the first on, that were looked through.
    seen: AtomicUsize,
    /// The linker's counters at that time.
    added: AtomicU64,
    removed: AtomicU64,
    /// Set if one of them was not ready yet.
    unready: AtomicBool,
    /// The counter of additions at the last check for strangers; the result is in `strangers`.
    asked: AtomicU64,
    strangers: AtomicBool,
    /// Set if `on_hidden` is still to be called.
    hidden: AtomicBool,
    noticed: AtomicBool,
    /// Who may have taken addresses before it was attached to a running program.
    taken: AtomicU8,
    /// The linker's counter of removals when it was last detached.
    removed_unseen: AtomicU64,
}

static ROOM: Room<slots::Scratch> = Room::new(slots::Scratch::new());

static ACTIVE: AtomicPtr<WayIn> = AtomicPtr::new(ptr::null_mut());

impl WayIn {
    /// Nothing is attached yet. `hooks` belong to the first families, in their order; the other families have none.
    pub const fn new(
        families: &'static [&'static Family],
        hooks: &'static [&'static [Hook]],
        noticed: &'static [Name<'static>],
        resolver: &'static CStr,
        sibling: Sibling,
        on_noticed: fn(),
        on_hidden: fn(),
    ) -> WayIn {
        assert!(hooks.len() <= families.len(), "the first families have hooks");
        WayIn {
            families,
            names: Names::new(hooks, noticed),
            resolver,
            sibling,
            on_noticed,
            on_hidden,
            attached: AtomicBool::new(false),
            seen: AtomicUsize::new(0),
            added: AtomicU64::new(0),
            removed: AtomicU64::new(0),
            unready: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            strangers: AtomicBool::new(false),
            hidden: AtomicBool::new(false),
            noticed: AtomicBool::new(false),
            taken: AtomicU8::new(taken::NOBODY),
            removed_unseen: AtomicU64::new(0),
        }
    }

    /// Writes the slots of all loaded objects, and of later ones when [`look`] finds them. Returns whether it could.
    ///
    /// `is_loading`: this library's own constructor makes the call. Then no other thread runs, or the thread that loads
    /// the library holds the linker's lock.
    pub fn attach(&'static self, is_loading: bool) -> bool {
        if !is_loading && linker::is_out_of_reach() {
            return false;
        }
        self.families.iter().zip(self.names.hooks).for_each(|(family, hooks)| family.stand_with(hooks));
        ACTIVE.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
        self.seen.store(0, Ordering::Relaxed);
        self.attached.store(true, Ordering::Release);
        let done = if is_loading {
            self.go_through(true, true);
            true
        } else {
            linker::locked(self.resolver, || self.go_through(false, true))
        };
        self.attached.store(done, Ordering::Release);
        self.tell();
        done
    }

    /// Restores all slots. Returns whether it could. Not where the objects [can't be
    /// listed](linker::is_out_of_reach).
    pub fn detach(&'static self) -> bool {
        linker::locked(self.resolver, || {
            self.attached.store(false, Ordering::Release);
            self.removed_unseen.store(linker::counters().1, Ordering::Relaxed);
            let page = linker::page_size();
            linker::each_object(0, |object| {
                slots::restore(self, object, page);
                true
            });
        })
    }

    /// Whether slots are written.
    pub fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Acquire)
    }

    /// See [`has_strangers`].
    fn has_strangers(&self) -> bool {
        if !self.is_attached() {
            return true;
        }
        if linker::is_out_of_reach() {
            let strangers = self.has_unreached_strangers();
            self.tell();
            return strangers;
        }
        if !self.has_changed() {
            return false;
        }
        let (added, _) = linker::counters();
        if self.asked.load(Ordering::Acquire) != added {
            let mut strangers = false;
            // Unloading has moved the objects behind the unloaded one.
            let is_shorter = linker::counters().1 != self.removed.load(Ordering::Relaxed);
            let from = if is_shorter { 0 } else { self.seen.load(Ordering::Relaxed) };
            linker::each_object(from, |object| {
                strangers = slots::imports_hooks(self, object);
                !strangers
            });
            // In this order: a thread that sees the check sees its result.
            self.strangers.store(strangers, Ordering::Release);
            self.asked.store(added, Ordering::Release);
        }
        self.strangers.load(Ordering::Acquire)
    }

    /// See [`companion_of`].
    fn companion_of(&self, copy: &Copy, family: &Family) -> Option<usize> {
        slots::leads_to(self, copy.object()?, family)
    }

    /// The same for when the linker can't be asked: objects added since the fork keep their slots.
    fn has_unreached_strangers(&self) -> bool {
        let mut families = 0;
        linker::each_unreached(|object| {
            families |= object.map_or(u32::MAX, |object| slots::imported_families(self, object))
        });
        self.hide_all(families);
        families != 0
    }

    fn look(&'static self) {
        if !self.is_attached() {
            return;
        }
        if linker::is_out_of_reach() {
            self.has_unreached_strangers();
            return self.tell();
        }
        linker::locked(self.resolver, || self.go_through(false, false));
        self.tell();
    }

    fn has_changed(&self) -> bool {
        let counters = linker::counters();
        counters != (self.added.load(Ordering::Relaxed), self.removed.load(Ordering::Relaxed))
            || self.unready.load(Ordering::Relaxed)
    }

    /// Looks through all objects, or the new ones. The linker's lock is held.
    fn go_through(&self, is_loading: bool, is_attaching: bool) {
        let (added, removed) = linker::counters();
        if removed != self.removed.load(Ordering::Relaxed) || self.unready.load(Ordering::Relaxed) {
            self.seen.store(0, Ordering::Relaxed);
            self.forget_unloaded();
        }
        self.unready.store(false, Ordering::Relaxed);
        let page = linker::page_size();
        let seen = self.seen.load(Ordering::Relaxed);
        let mut news = false;
        let count = linker::each_object(seen, |object| {
            news |= self.meet(object);
            true
        });
        if news {
            unwinding::prepare();
        }
        // A slot that was not bound before can lead to a library that has just been loaded.
        let from = if news { 0 } else { seen };
        let is_program_start = is_loading && linker::is_program_start();
        let is_running = is_attaching && !is_program_start;
        if is_running {
            self.set_from_before(true);
        }
        // What was unloaded may have taken some, and passed them on.
        let was_unloaded = removed != self.removed_unseen.load(Ordering::Relaxed);
        let mut takers = if was_unloaded { taken::OTHERS } else { taken::NOBODY };
        // SAFETY: the linker's lock is held, and nothing called in here comes back here.
        let room = unsafe { ROOM.lend() };
        room.forget();
        linker::each_object(from, |object| {
            self.write(object, page, room, is_program_start);
            if is_running {
                takers |= taken::by(self, object, room.imports());
            }
            true
        });
        if is_running {
            self.taken.store(takers, Ordering::Release);
            self.set_from_before(takers != taken::NOBODY);
        }
        for (_, copy) in self.families.iter().flat_map(|family| family.copies()) {
            // The libraries that a program starts with stay loaded. None of them may be opened before the program
            // begins: the linker would initialise it out of order, the C library without an environment.
            let is_due = copy.is_to_be_pinned();
            if is_program_start || is_due && copy.object().is_some_and(scope::is_of_program) {
                copy.note_pinned();
            } else if is_due {
                copy.pin();
            }
        }
        self.seen.store(count, Ordering::Relaxed);
        linker::note_seen();
        self.added.store(added, Ordering::Relaxed);
        self.removed.store(removed, Ordering::Relaxed);
    }

    fn set_from_before(&self, is_from_before: bool) {
        let copies = self.families.iter().flat_map(|family| family.copies());
        copies.for_each(|(_, copy)| copy.set_from_before(is_from_before));
    }

    /// The caller states who has taken no addresses before this library was [attached](WayIn::attach) to the running
    /// program: anybody, or Python's ctypes. Returns whether libraries from before are served from now on.
    pub fn excuse(&self, anybody: bool) -> bool {
        let excused = if anybody { u8::MAX } else { taken::CTYPES };
        let left = self.taken.fetch_and(!excused, Ordering::AcqRel) & !excused;
        if left == taken::NOBODY {
            self.set_from_before(false);
        }
        left == taken::NOBODY && self.is_attached()
    }

    /// Visits the objects that may have taken addresses, if libraries from before are not served for that reason; with
    /// None if they were unloaded.
    pub fn each_taker(&self, mut visit: impl FnMut(Option<&Loaded>)) {
        let takers = self.taken.load(Ordering::Acquire);
        if takers == taken::NOBODY {
            return;
        }
        let mut are_there = false;
        taken::each(self, takers, |object| {
            are_there = true;
            visit(Some(object));
            ControlFlow::Continue(())
        });
        if !are_there {
            visit(None);
        }
    }

    fn write(&self, object: &Loaded, page: usize, room: &mut slots::Scratch, is_program_start: bool) {
        if self.sibling.contains(object.dynamic as usize) {
            return;
        }
        match slots::write(self, object, page, room) {
            slots::Outcome::Done => {}
            // Another thread may be in its first call through one of them: the linker then writes the slot once more.
            slots::Outcome::DoneEarly if is_program_start => {}
            slots::Outcome::DoneEarly | slots::Outcome::Unready => self.unready.store(true, Ordering::Relaxed),
            slots::Outcome::Refused => self.hide_all(slots::imported_families(self, object)),
        }
    }

    /// Notes the definitions of an object. Returns whether it is a library of a family that was not known.
    fn meet(&self, object: &Loaded) -> bool {
        linker::meet_executable(object);
        let Some(definitions) = object.definitions() else { return false };
        dlsym::meet(object, &definitions);
        self.sibling.meet(object, &definitions);
        let mut news = false;
        for family in self.families {
            if family.is_one(object) {
                let was_hidden = family.is_hidden();
                news |= family.meet(object);
                if family.is_hidden() && !was_hidden {
                    self.hidden.store(true, Ordering::Release);
                }
            }
        }
        news
    }

    fn forget_unloaded(&self) {
        for family in self.families {
            family.forget(|known| {
                let mut found = false;
                linker::each_object(0, |object| {
                    found = object.dynamic == known.dynamic && object.start == known.start;
                    !found
                });
                found
            });
        }
    }

    /// Notes that copies of these families, given as bits, may be called unseen.
    pub(crate) fn hide(&self, families: u32) {
        self.hide_all(families);
        self.tell();
    }

    fn hide_all(&self, families: u32) {
        for (number, family) in self.families.iter().enumerate() {
            if families >> number & 1 == 1 && family.hide() {
                self.hidden.store(true, Ordering::Release);
            }
        }
    }

    pub(crate) fn name(&self, wanted: Wanted) -> Name<'static> {
        match wanted {
            // A finder has no slot that matters.
            Wanted::Dlsym | Wanted::Finder => dlsym::DLSYM,
            Wanted::Dlvsym => dlsym::DLVSYM,
            Wanted::Hook(family, hook) => self.names.hooks[usize::from(family)][usize::from(hook)].name,
            Wanted::Noticed(number) => self.names.noticed[usize::from(number)],
        }
    }

    pub(crate) fn notice(&self) {
        self.noticed.store(true, Ordering::Release);
    }

    /// Tells the adapter about findings. Called without the linker's lock, which the adapter may need.
    pub(crate) fn tell(&self) {
        if self.noticed.swap(false, Ordering::AcqRel) {
            (self.on_noticed)();
        }
        if self.hidden.swap(false, Ordering::AcqRel) {
            (self.on_hidden)();
        }
    }
}

/// Whether objects may have been added or removed since the last look.
pub fn has_news() -> bool {
    active().is_some_and(|way| linker::is_out_of_reach() || way.has_changed())
}

/// Looks through the added objects.
pub fn look() {
    if let Some(way) = active() {
        way.look();
    }
}

/// Looks through all objects if a slot may have been written once more since.
pub fn look_again() {
    if let Some(way) = active().filter(|way| way.unready.load(Ordering::Relaxed)) {
        way.look();
    }
}

/// Whether an object was added that can call hooked functions, and was not looked through yet: nobody has called
/// `dlsym` since. A hooked call can't look through it: this would wait for a thread inside `dlopen`.
pub fn has_strangers() -> bool {
    known().is_none_or(WayIn::has_strangers)
}

/// The number of the copy of a family that a copy of another family uses, as a libssl uses its libcrypto.
pub fn companion_of(copy: &Copy, family: &Family) -> Option<usize> {
    known()?.companion_of(copy, family)
}

/// The hook of a trampoline of this library: its family, the copy and the origin of the call.
pub fn hook_of(trampoline: usize) -> Option<(&'static Family, Caller)> {
    slots::hook_of(known()?, trampoline).map(|(family, caller, _)| (family, caller))
}

/// The current attachment.
pub(crate) fn active() -> Option<&'static WayIn> {
    known().filter(|way| way.is_attached())
}

/// The current or former attachment.
fn known() -> Option<&'static WayIn> {
    // SAFETY: only a `&'static WayIn` is stored.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
}

/// The address that a trampoline of this library leads to, for another of our libraries that finds it in a slot; null
/// for any other address. This also works after detaching: function pointers from `dlsym` stay as they are.
pub fn bound_to(trampoline: *const c_void) -> *const c_void {
    let found = known().and_then(|way| slots::definition_of(way, trampoline as usize));
    found.map_or(ptr::null(), |address| address as *const c_void)
}

/// The variable through which the calls of a trampoline of this library go on, for another of our libraries that finds
/// it in a slot; null for any other address.
pub fn next_of(trampoline: *const c_void) -> *const c_void {
    if let Some(next) = dlsym::next_of(trampoline as usize) {
        return ptr::from_ref(next).cast();
    }
    let found = known().and_then(|way| slots::hook_of(way, trampoline as usize));
    let variable = found.and_then(|(family, caller, hook)| Some(family.onward()?.variable(caller, hook)));
    variable.map_or(ptr::null(), |variable| ptr::from_ref(variable).cast())
}
