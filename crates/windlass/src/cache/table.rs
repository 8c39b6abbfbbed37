//! The slots of all sources: as many as a program uses, and not all that it ever did.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::slot::Slot;
use crate::source::SourceRef;

/// A program that makes a file for each connection must not fill memory with its stores, and one that loads each file of a
/// directory of thousands shall find them all: from this number on, each time that it has doubled, sources that are not
/// any more what they were are forgotten.
pub(super) const FEW_SOURCES: usize = 64;
/// Beyond this, or beyond [`MOST_BYTES`] of source, those are forgotten, too, that were used longest ago.
const MOST_SOURCES: usize = 1 << 16;
const MOST_BYTES: u64 = 64 << 20;

#[derive(Default)]
pub(super) struct Slots {
    pub cafiles: Table,
    pub capaths: Table,
}

pub(super) struct Table {
    pub slots: HashMap<OsString, Arc<Slot>>,
    /// How many there may be until the next look at what they are worth.
    room: usize,
    pub most_bytes: u64,
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: HashMap::new(), room: FEW_SOURCES, most_bytes: MOST_BYTES }
    }
}

impl Slots {
    pub fn of(&self, source: SourceRef<'_>) -> &Table {
        match source {
            SourceRef::Cafile(_) => &self.cafiles,
            SourceRef::Capath(_) => &self.capaths,
        }
    }

    /// What is finished, in slots of their own.
    pub fn adopt(&self) -> Slots {
        Slots { cafiles: self.cafiles.adopt(), capaths: self.capaths.adopt() }
    }

    /// The slot of a source, made now if there is none.
    pub fn insert(&mut self, source: SourceRef<'_>, path: &OsStr, loads: u64) -> Arc<Slot> {
        let (table, of): (_, fn(&Path) -> SourceRef<'_>) = match source {
            SourceRef::Cafile(_) => (&mut self.cafiles, |path| SourceRef::Cafile(path)),
            SourceRef::Capath(_) => (&mut self.capaths, |path| SourceRef::Capath(path)),
        };
        if table.slots.len() >= table.room && !table.slots.contains_key(path) {
            table.forget(of);
        }
        let slot = table.slots.entry(path.to_owned()).or_default();
        slot.touch(loads);
        Arc::clone(slot)
    }
}

impl Table {
    /// As [`Slots::adopt`].
    fn adopt(&self) -> Table {
        let finished =
            |(path, slot): (&OsString, &Arc<Slot>)| Some((path.clone(), Arc::new(Slot::with_entry(slot.try_entry()?))));
        Table { slots: self.slots.iter().filter_map(finished).collect(), room: self.room, most_bytes: self.most_bytes }
    }

    /// A thread that is at work on a slot that is forgotten goes on with it; only the next call starts anew.
    fn forget(&mut self, source: fn(&Path) -> SourceRef<'_>) {
        self.slots.retain(|path, slot| {
            slot.may_serve(|state| source(Path::new(path)).observe().is_ok_and(|now| now == *state))
        });
        let bytes: u64 = self.slots.values().map(|slot| slot.source_bytes()).sum();
        if self.slots.len() >= MOST_SOURCES || bytes > self.most_bytes {
            let mut uses: Vec<u64> = self.slots.values().map(|slot| slot.last_used.load(Ordering::Relaxed)).collect();
            uses.sort_unstable();
            let middle = uses.get(uses.len() / 2).copied().unwrap_or(0);
            self.slots.retain(|_, slot| slot.last_used.load(Ordering::Relaxed) > middle);
        }
        self.room = (2 * self.slots.len()).clamp(FEW_SOURCES, MOST_SOURCES);
    }
}
