//! The definitions of a loaded object, from its own tables (`DT_GNU_HASH`).

use std::ffi::{CStr, c_char};

use crate::elf::Sym;

/// The definitions of an object, found without the dynamic linker: that might wait for the linker's lock, whose holder
/// may be waiting for this thread. They must not outlive the object.
#[derive(Clone, Copy)]
pub struct Definitions {
    pub(crate) table: *const u32,
    pub(crate) symbols: *const Sym,
    pub(crate) versions: *const u16,
    pub(crate) strings: usize,
    pub(crate) base: usize,
}

/// A name with its hash.
#[derive(Clone, Copy)]
pub struct Name<'a> {
    text: &'a CStr,
    hash: u32,
}

impl<'a> Name<'a> {
    /// Hashes a name as in `DT_GNU_HASH`.
    pub const fn new(text: &'a CStr) -> Name<'a> {
        let bytes = text.to_bytes();
        let (mut hash, mut at) = (5381u32, 0);
        while at < bytes.len() {
            hash = hash.wrapping_mul(33).wrapping_add(bytes[at] as u32);
            at += 1;
        }
        Name { text, hash }
    }

    /// Its hash.
    pub const fn hash(&self) -> u32 {
        self.hash
    }

    /// The name.
    pub const fn text(&self) -> &'a CStr {
        self.text
    }
}

impl Definitions {
    /// The first symbol that the hash table lists: those before it are only imported. `None` if it lists none; this
    /// boundary is then unknown.
    pub(crate) fn first(&self) -> Option<u32> {
        // SAFETY: as in `find`.
        unsafe {
            let [buckets, first, words, _] = *self.table.cast::<[u32; 4]>();
            let heads = self.table.add(4).add(words as usize * 2);
            (0..buckets).any(|at| *heads.add(at as usize) != 0).then_some(first)
        }
    }

    /// The number of symbols. `None` as for `first`.
    pub(crate) fn count(&self) -> Option<u32> {
        // SAFETY: as in `find`. The chain that begins last ends with the last symbol.
        unsafe {
            let [buckets, first, words, _] = *self.table.cast::<[u32; 4]>();
            let heads = self.table.add(4).add(words as usize * 2);
            let hashes = heads.add(buckets as usize);
            let mut last =
                (0..buckets).map(|at| *heads.add(at as usize)).max().filter(|last| *last >= first && *last > 0)?;
            while *hashes.add((last - first) as usize) & 1 == 0 {
                last += 1;
            }
            Some(last + 1)
        }
    }

    /// The address of a function or variable of this name. Excludes symbols that only the linker can resolve
    /// (`STT_GNU_IFUNC`, thread-local storage), and versions that are kept for old programs.
    pub fn find(&self, name: Name) -> Option<usize> {
        let at = self.symbol(name)?;
        // SAFETY: the table has this symbol.
        Some(self.base.wrapping_add(unsafe { (*self.symbols.add(at)).value } as usize))
    }

    /// The number of the symbol that [`Definitions::find`] finds.
    pub(crate) fn symbol(&self, name: Name) -> Option<usize> {
        // SAFETY: the table has the symbols that it names.
        self.symbol_that(name, |at| unsafe { self.is_defined(at) && self.is_plain(at) })
    }

    /// The number of a symbol of this name that is listed but not defined: see
    /// [`Loaded::stand_in`](crate::elf::Loaded::stand_in).
    pub(crate) fn stand_in(&self, name: Name) -> Option<usize> {
        // SAFETY: the table has the symbols that it names.
        self.symbol_that(name, |at| unsafe { (*self.symbols.add(at)).section == UNDEFINED })
    }

    /// The number of any symbol that the object defines by this name.
    pub(crate) fn any_symbol(&self, name: Name) -> Option<usize> {
        // SAFETY: as above.
        self.symbol_that(name, |at| unsafe { self.is_defined(at) })
    }

    /// Whether this symbol is the only definition of a name.
    pub(crate) fn is_the_only(&self, name: Name, symbol: usize) -> bool {
        // SAFETY: as above.
        self.symbol_that(name, |at| at != symbol && unsafe { self.is_defined(at) }).is_none()
    }

    #[inline]
    fn symbol_that(&self, name: Name, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        const BITS: u32 = 64;
        // SAFETY: the table of a loaded object: four numbers, the words of a Bloom filter, the buckets, and for each
        // symbol from `first` on the hash, whose lowest bit ends a chain. The symbols that it names exist.
        unsafe {
            let [buckets, first, words, shift] = *self.table.cast::<[u32; 4]>();
            if buckets == 0 || words == 0 || shift >= BITS {
                return None;
            }
            let bloom = self.table.add(4).cast::<u64>();
            let word = bloom.add((name.hash / BITS % words) as usize).read_unaligned();
            let second = name.hash.checked_shr(shift).unwrap_or(0) % BITS;
            if (word >> (name.hash % BITS)) & (word >> second) & 1 == 0 {
                return None;
            }
            let heads = bloom.add(words as usize).cast::<u32>();
            let hashes = heads.add(buckets as usize);
            let mut at = *heads.add((name.hash % buckets) as usize);
            if at < first {
                return None;
            }
            loop {
                let hash = *hashes.add((at - first) as usize);
                if (hash ^ name.hash) >> 1 == 0 && self.is_named(at as usize, name.text) && is_it(at as usize) {
                    return Some(at as usize);
                }
                if hash & 1 == 1 {
                    return None;
                }
                at += 1;
            }
        }
    }

    /// Whether a symbol of the table has a name.
    ///
    /// # Safety
    /// The table has this symbol.
    unsafe fn is_named(&self, at: usize, name: &CStr) -> bool {
        // SAFETY: as the caller states.
        unsafe {
            let offset = (*self.symbols.add(at)).name as usize;
            CStr::from_ptr(self.strings.wrapping_add(offset) as *const c_char) == name
        }
    }

    /// Whether a symbol is defined here.
    ///
    /// # Safety
    /// The table has this symbol.
    unsafe fn is_defined(&self, at: usize) -> bool {
        // SAFETY: as the caller states.
        unsafe { (*self.symbols.add(at)).section != UNDEFINED }
    }

    /// Whether a symbol is a function or variable, in its current version.
    ///
    /// # Safety
    /// The table has this symbol.
    unsafe fn is_plain(&self, at: usize) -> bool {
        const HIDDEN: u16 = 0x8000;
        const STT_FUNC: u8 = 2;
        // SAFETY: as the caller states; there is a version for each symbol.
        unsafe {
            let current = self.versions.is_null() || *self.versions.add(at) & HIDDEN == 0;
            current && (*self.symbols.add(at)).info & 0xf <= STT_FUNC
        }
    }
}

const UNDEFINED: u16 = 0;

#[cfg(test)]
mod tests {
    use super::Name;
    use crate::linker;

    #[test]
    fn finds_what_the_c_library_defines_and_nothing_else() {
        let known = libc::getpid as unsafe extern "C" fn() -> libc::pid_t as usize;
        let object = linker::object_at(known).expect("the C library");
        let definitions = object.definitions().expect("its table");
        assert_eq!(definitions.find(Name::new(c"getpid")), Some(known));
        assert_eq!(definitions.find(Name::new(c"windlass_nothing_of_this_name")), None);
        assert!(definitions.find(Name::new(c"dl_iterate_phdr")).is_some_and(|found| object.contains(found)));
    }
}
