//! Symbol versions of a loaded object (LSB, "Symbol Versioning").

use std::ffi::CStr;

use crate::definitions::Name;
use crate::elf::Loaded;
use crate::elf::format::{HIDDEN, Verdaux, Vernaux};

impl Loaded {
    /// The name of the version by which a symbol is looked up: the version that an imported symbol requires, or that
    /// the object itself gives it.
    pub fn version_of(&self, symbol: usize) -> Option<&CStr> {
        // SAFETY: there is a version for each symbol.
        let wanted = unsafe { self.versions.as_ref().map(|_| *self.versions.add(symbol))? } & !HIDDEN;
        let (mut needed, mut defined) = (self.needs.0, self.defines.0);
        // SAFETY: a list of `needs.1` records, each with a list of `Verneed::count` auxiliary ones, and one of
        // `defines.1` records, each with at least one auxiliary one, the version's own name; the offsets between them
        // are the linker's, and 0 ends a list. The names belong to the string table. Version 0 is for local symbols, 1
        // means no version.
        unsafe {
            for _ in 0..if wanted > 1 { self.needs.1 } else { 0 } {
                let mut one = needed.byte_add((*needed).aux as usize).cast::<Vernaux>();
                for _ in 0..(*needed).count {
                    if (*one).other & !HIDDEN == wanted {
                        return Some(self.string((*one).name as usize));
                    }
                    one = one.byte_add((*one).next as usize);
                }
                if (*needed).next == 0 {
                    break;
                }
                needed = needed.byte_add((*needed).next as usize);
            }
            for _ in 0..if wanted > 1 { self.defines.1 } else { 0 } {
                if (*defined).index & !HIDDEN == wanted {
                    let own = defined.byte_add((*defined).aux as usize).cast::<Verdaux>();
                    return Some(self.string((*own).name as usize));
                }
                if (*defined).next == 0 {
                    break;
                }
                defined = defined.byte_add((*defined).next as usize);
            }
        }
        None
    }

    /// Whether a slot that needs this version, or none, gets the function that
    /// [`Definitions::find`](crate::definitions::Definitions::find) returns. (If none is needed, the oldest of several
    /// versions is taken.)
    pub fn defines(&self, name: Name, version: Option<&CStr>) -> bool {
        let found = self.definitions().and_then(|definitions| Some((definitions, definitions.symbol(name)?)));
        found.is_some_and(|(definitions, symbol)| match version {
            Some(version) => self.version_of(symbol).is_none_or(|own| own == version),
            None => definitions.is_the_only(name, symbol),
        })
    }

    /// Whether a slot that needs this version may be bound to any kind of function that the object defines.
    pub fn may_define(&self, name: Name, version: Option<&CStr>) -> bool {
        let symbol = self.definitions().and_then(|definitions| definitions.any_symbol(name));
        let own = symbol.and_then(|symbol| self.version_of(symbol));
        own.zip(version).is_none_or(|(own, version)| own == version)
    }

    /// Whether the object defines a symbol version of this name, or no versions at all.
    pub fn may_define_version(&self, version: &CStr) -> bool {
        if self.defines.0.is_null() || self.defines.1 == 0 {
            return true;
        }
        let mut at = self.defines.0;
        // SAFETY: a list of `defines.1` records, each with at least one auxiliary one, the version's own name.
        unsafe {
            for _ in 0..self.defines.1 {
                let own = at.byte_add((*at).aux as usize).cast::<Verdaux>();
                if self.string((*own).name as usize) == version {
                    return true;
                }
                if (*at).next == 0 {
                    break;
                }
                at = at.byte_add((*at).next as usize);
            }
        }
        false
    }
}
