//! The slots of all sources, limited to those that a program still uses.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::seeded::Seeded;
use super::slot::Slot;
use crate::error::Unsupported;
use crate::identity::Identity;
use crate::memory;
use crate::sorted::sorted;
use crate::source::SourceRef;

/// A program that makes a file for each connection must not fill memory with stores, while one that loads each file of
/// a directory of thousands must find them all. From this number on, and each time the number has doubled, sources that
/// have changed since they were loaded are forgotten.
pub(super) const FEW_SOURCES: usize = 64;
/// Beyond this number, or beyond [`MOST_BYTES`] of source, the least recently used sources are forgotten too.
const MOST_SOURCES: usize = 1 << 16;
const MOST_BYTES: u64 = 64 << 20;

#[derive(Default)]
pub(super) struct Slots {
    pub cafiles: Table,
    pub capaths: Table,
    /// The slot that loaded a file first, by device and inode: files of a hashed directory have two names each.
    pub files: HashMap<(u64, u64), Weak<Slot>, Seeded>,
}

pub(super) struct Table {
    pub slots: HashMap<OsString, Arc<Slot>, Seeded>,
    /// How many slots there may be until the next cleanup.
    room: usize,
    pub most_bytes: u64,
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: HashMap::default(), room: FEW_SOURCES, most_bytes: MOST_BYTES }
    }
}

impl Slots {
    pub fn of(&self, source: SourceRef<'_>) -> &Table {
        match source {
            SourceRef::Cafile(_) => &self.cafiles,
            SourceRef::Capath(_) => &self.capaths,
        }
    }

    /// A copy of the finished loads, in slots of its own.
    pub fn fork(&self) -> Slots {
        Slots { cafiles: self.cafiles.fork(), capaths: self.capaths.fork(), files: HashMap::default() }
    }

    /// A slot that has loaded the file with this identity, possibly under another name and long ago.
    pub fn of_file(&self, identity: &Identity) -> Option<Arc<Slot>> {
        self.files.get(&(identity.dev, identity.ino))?.upgrade()
    }

    /// Remembers which slot has loaded a file.
    pub fn loaded(&mut self, identity: &Identity, slot: &Arc<Slot>) {
        if self.files.len() > 2 * self.cafiles.slots.len() + FEW_SOURCES {
            self.files.retain(|_, slot| slot.strong_count() > 0);
        }
        if self.files.try_reserve(1).is_ok() {
            self.files.insert((identity.dev, identity.ino), Arc::downgrade(slot));
        }
    }

    /// The slot of a source, created if there is none.
    pub fn insert(&mut self, source: SourceRef<'_>, path: &OsStr, loads: u64) -> Result<Arc<Slot>, Unsupported> {
        let (table, of): (_, fn(&Path) -> SourceRef<'_>) = match source {
            SourceRef::Cafile(_) => (&mut self.cafiles, |path| SourceRef::Cafile(path)),
            SourceRef::Capath(_) => (&mut self.capaths, |path| SourceRef::Capath(path)),
        };
        if table.slots.len() >= table.room && !table.slots.contains_key(path) {
            table.forget(of);
        }
        let key = memory::os_string(path)?;
        table.slots.try_reserve(1).map_err(|_| Unsupported::OutOfMemory)?;
        let slot = table.slots.entry(key).or_default();
        slot.touch(loads);
        Ok(Arc::clone(slot))
    }
}

impl Table {
    /// Like [`Slots::fork`].
    fn fork(&self) -> Table {
        let mut slots = HashMap::with_hasher(self.slots.hasher().clone());
        // Slots that there is no memory for are loaded again.
        if slots.try_reserve(self.slots.len()).is_ok() {
            let finished = |(path, slot): (&OsString, &Arc<Slot>)| {
                Some((memory::os_string(path).ok()?, Arc::new(Slot::with_entry(slot.try_entry()?))))
            };
            slots.extend(self.slots.iter().filter_map(finished));
        }
        Table { slots, room: self.room, most_bytes: self.most_bytes }
    }

    /// A thread that is working on a forgotten slot continues with it; only the next call starts over.
    fn forget(&mut self, source: fn(&Path) -> SourceRef<'_>) {
        self.slots.retain(|path, slot| slot.may_serve(|state| source(Path::new(path)).is_still(state)));
        let bytes: u64 = self.slots.values().map(|slot| slot.source_bytes()).sum();
        if self.slots.len() >= MOST_SOURCES || bytes > self.most_bytes {
            let mut uses: Vec<u64> = Vec::new();
            // Without memory to rank them by use, all are forgotten.
            if uses.try_reserve_exact(self.slots.len()).is_ok() {
                uses.extend(self.slots.values().map(|slot| slot.last_used.load(Ordering::Relaxed)));
            }
            let uses = sorted(uses);
            let middle = uses.get(uses.len() / 2).copied().unwrap_or(u64::MAX);
            self.slots.retain(|_, slot| slot.last_used.load(Ordering::Relaxed) > middle);
        }
        self.room = (2 * self.slots.len()).clamp(FEW_SOURCES, MOST_SOURCES);
    }
}
