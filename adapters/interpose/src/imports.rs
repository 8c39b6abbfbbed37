//! The symbols of one object that matter: its imports of hooked functions, and a copy's calls of its own functions.

use std::ops::Range;

use crate::elf::{FILTER, Loaded};
use crate::family::Copy;
use crate::wanted::Wanted;
use crate::way_in::WayIn;

/// The symbols of an object that matter.
pub(crate) struct Imports {
    /// Each with the place of the previous one that has the same lowest bits, counted from 1.
    found: [(u32, Wanted, u8); MOST],
    count: usize,
    /// Whether there was room for all of them.
    pub fits: bool,
    /// Whether it imports a function that finds others by their names.
    pub finds: bool,
    /// For [`Loaded::slots`]: for each value of the lowest bits of a symbol's number, the place of the last such symbol
    /// in `found`, counted from 1.
    pub filter: [u8; FILTER],
}

/// More than there are names, and small enough to be counted by a byte.
pub(crate) const MOST: usize = 192;

impl Imports {
    pub const NONE: Imports =
        Imports { found: [(0, Wanted::Dlsym, 0); MOST], count: 0, fits: true, finds: false, filter: [0; FILTER] };

    /// The symbols that matter; `None` if there are none.
    pub fn of(way: &WayIn, object: &Loaded) -> Option<Imports> {
        let mut imports = Imports::NONE;
        imports.fill(way, object).then_some(imports)
    }

    /// Finds the symbols of this object that matter. Returns whether there are any.
    pub fn fill(&mut self, way: &WayIn, object: &Loaded) -> bool {
        if self.count > 0 || self.finds {
            *self = Imports::NONE;
        }
        let mut note = |symbol: usize, wanted: Wanted| {
            self.finds |= matches!(wanted, Wanted::Dlsym | Wanted::Dlvsym | Wanted::Finder);
            match wanted {
                Wanted::Noticed(_) => way.notice(),
                Wanted::Finder => {}
                _ => self.add(symbol, wanted),
            }
        };
        let mut find = |symbols: Range<usize>| {
            object.names(symbols, |symbol, name, left| {
                // SAFETY: a string of the object's table, which ends with a NUL.
                if let Some(wanted) = unsafe { way.names.find(name, left) } {
                    note(symbol, wanted);
                }
            });
        };
        match object.imported_symbols() {
            Some(count) => find(1..count),
            // Its hash table is empty and does not tell where the imported symbols end.
            None => {
                let mut last = 0;
                object.slots(&[1; FILTER], |slot| {
                    last = last.max(slot.symbol);
                    true
                });
                find(1..last + 1);
            }
        }
        // A library of a family can call its own functions through its own slots.
        for (number, family) in way.families.iter().enumerate() {
            let is_copy = |(_, copy): (usize, &Copy)| copy.object().is_some_and(|own| own.dynamic == object.dynamic);
            let Some(definitions) = object.definitions().filter(|_| family.copies().any(is_copy)) else { continue };
            for (at, hook) in family.hooks().iter().enumerate() {
                if let Some(symbol) = definitions.symbol(hook.name) {
                    note(symbol, Wanted::Hook(number as u8, at as u8));
                }
            }
        }
        self.count > 0
    }

    fn add(&mut self, symbol: usize, wanted: Wanted) {
        match self.found.get_mut(self.count) {
            Some(place) => {
                *place = (symbol as u32, wanted, self.filter[symbol % FILTER]);
                self.count += 1;
                self.filter[symbol % FILTER] = self.count as u8;
            }
            None => self.fits = false,
        }
    }

    pub fn all(&self) -> impl Iterator<Item = Wanted> {
        self.found[..self.count].iter().map(|(_, wanted, _)| *wanted)
    }

    pub fn find(&self, symbol: usize) -> Option<Wanted> {
        let mut at = self.filter[symbol % FILTER];
        while let Some((known, wanted, before)) = usize::from(at).checked_sub(1).map(|at| self.found[at]) {
            if known as usize == symbol {
                return Some(wanted);
            }
            at = before;
        }
        None
    }
}
