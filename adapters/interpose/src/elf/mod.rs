//! A loaded object: its program headers and its dynamic section (System V gABI; symbol versions as in the LSB).

use std::ffi::{CStr, c_char};
use std::ptr;

mod format;
mod list;
mod slots;
mod versions;

use crate::definitions::Definitions;
use format::*;

pub use format::Dyn;
pub(crate) use format::Sym;
pub use list::{Debug, Link};
pub use slots::{FILTER, Slot};

/// One loaded object.
///
/// Everything here points into the object's own mapping. It must not be used longer than the object is known to stay
/// loaded: during a callback of `dl_iterate_phdr`, or while something holds a handle on it.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// The difference between the addresses in memory and those in the file.
    pub base: usize,
    /// The first address of its mapping.
    pub start: usize,
    /// The end of its mapping.
    pub end: usize,
    /// Its path; empty for the executable.
    pub path: *const c_char,
    /// Its dynamic section.
    pub dynamic: *const Dyn,
    /// The part that becomes read-only after relocation: start and end.
    relro: (usize, usize),
    /// The writable and the executable part according to the file: from the first segment's start to the last one's
    /// end.
    writable: (usize, usize),
    code: (usize, usize),
    /// What each thread gets a copy of (`PT_TLS`, without `.tbss`): start and end.
    per_thread: (usize, usize),
    strings: usize,
    strings_size: usize,
    symbols: *const Sym,
    hash: *const u32,
    versions: *const u16,
    needs: (*const Verneed, usize),
    defines: (*const Verdef, usize),
    /// The relocations of the procedure linkage table, and all others.
    relocations: [(*const Rela, usize); 2],
    soname: Option<usize>,
    /// `DT_DEBUG`, which the linker fills in for an executable: its list of objects.
    debug: *const Debug,
}

impl Loaded {
    const UNKNOWN: Loaded = Loaded {
        base: 0,
        start: 0,
        end: usize::MAX,
        path: ptr::null(),
        dynamic: ptr::null(),
        relro: (0, 0),
        writable: (0, 0),
        code: (0, 0),
        per_thread: (0, 0),
        strings: 0,
        strings_size: 0,
        symbols: ptr::null(),
        hash: ptr::null(),
        versions: ptr::null(),
        needs: (ptr::null(), 0),
        defines: (ptr::null(), 0),
        relocations: [(ptr::null(), 0); 2],
        soname: None,
        debug: ptr::null(),
    };

    /// The object passed to a callback of `dl_iterate_phdr`; `None` if it has no dynamic section.
    ///
    /// # Safety
    /// `info` comes from `dl_iterate_phdr`, and the object stays loaded as long as the result is used.
    pub unsafe fn of(info: &libc::dl_phdr_info) -> Option<Loaded> {
        let base = info.dlpi_addr as usize;
        let (mut dynamic, mut start, mut end, mut relro, mut per_thread) = (ptr::null(), usize::MAX, 0, (0, 0), (0, 0));
        let [mut writable, mut code] = [(usize::MAX, 0); 2];
        // SAFETY: dlpi_phdr has dlpi_phnum entries.
        for header in unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) } {
            let at = base.wrapping_add(header.p_vaddr as usize);
            let behind = at.wrapping_add(header.p_memsz as usize);
            match header.p_type {
                libc::PT_DYNAMIC => dynamic = at as *const Dyn,
                libc::PT_GNU_RELRO => relro = (at, behind),
                // Zeroes behind what is in the file take no addresses: other sections have them.
                libc::PT_TLS => per_thread = (at, at.wrapping_add(header.p_filesz as usize)),
                libc::PT_LOAD => {
                    start = start.min(at);
                    end = end.max(behind);
                    for (flag, range) in [(libc::PF_W, &mut writable), (libc::PF_X, &mut code)] {
                        if header.p_flags & flag != 0 {
                            *range = (range.0.min(at), range.1.max(behind));
                        }
                    }
                }
                _ => {}
            }
        }
        let path = info.dlpi_name;
        let unknown = Loaded { base, start, end, path, dynamic, relro, writable, code, per_thread, ..Loaded::UNKNOWN };
        // SAFETY: as the caller states.
        (!dynamic.is_null()).then(|| unsafe { unknown.with_tables() }).filter(|object| object.strings != 0)
    }

    /// # Safety
    /// As for `of`.
    unsafe fn with_tables(mut self) -> Loaded {
        // The low tags by number: nearly all entries have one.
        let (mut low, mut relative, mut at) = ([0_usize; LOW_TAGS], 0, self.dynamic);
        // glibc relocates some of these addresses in place and leaves others as they are in the file.
        let address = |value: usize| match value {
            0 => 0,
            _ if (self.start..self.end).contains(&value) => value,
            _ => value.wrapping_add(self.base),
        };
        loop {
            // SAFETY: the dynamic section of a loaded object is readable and ends with DT_NULL.
            let Dyn { tag, value } = *unsafe { &*at };
            if let Some(place) = low.get_mut(tag as usize) {
                if tag == DT_NULL {
                    break;
                }
                *place = value;
            } else {
                match tag {
                    DT_GNU_HASH => self.hash = address(value) as *const u32,
                    DT_VERSYM => self.versions = address(value) as *const u16,
                    DT_VERNEED => self.needs.0 = address(value) as *const Verneed,
                    DT_VERNEEDNUM => self.needs.1 = value,
                    DT_VERDEF => self.defines.0 = address(value) as *const Verdef,
                    DT_VERDEFNUM => self.defines.1 = value,
                    DT_RELACOUNT => relative = value,
                    _ => {}
                }
            }
            // SAFETY: as above, and this was not the last entry.
            at = unsafe { at.add(1) };
        }
        self.debug = low[DT_DEBUG as usize] as *const Debug;
        self.strings = address(low[DT_STRTAB as usize]);
        self.strings_size = low[DT_STRSZ as usize];
        self.symbols = address(low[DT_SYMTAB as usize]) as *const Sym;
        self.soname = Some(low[DT_SONAME as usize]).filter(|offset| *offset != 0);
        let table = |start: isize, size: isize| {
            (address(low[start as usize]) as *const Rela, low[size as usize] / size_of::<Rela>())
        };
        self.relocations = [table(DT_JMPREL, DT_PLTRELSZ), table(DT_RELA, DT_RELASZ)];
        for table in &mut self.relocations {
            if table.0.is_null() {
                table.1 = 0;
            }
        }
        // The relative ones come first, and refer to no symbol.
        let (table, count) = self.relocations[1];
        let relative = relative.min(count);
        self.relocations[1] = (table.wrapping_add(relative), count - relative);
        self
    }

    /// Whether an address is inside this object.
    pub fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The linker's list of objects, from an executable that it has loaded.
    pub fn list(&self) -> *const Debug {
        self.debug
    }

    /// Whether this is the executable.
    pub fn is_executable(&self) -> bool {
        // SAFETY: null, or a NUL-terminated string.
        self.path.is_null() || unsafe { *self.path } == 0
    }

    /// Its definitions, for lookup by name.
    pub fn definitions(&self) -> Option<Definitions> {
        (!self.hash.is_null() && !self.symbols.is_null()).then_some(Definitions {
            table: self.hash,
            symbols: self.symbols,
            versions: self.versions,
            strings: self.strings,
            base: self.base,
        })
    }

    /// The number of symbols, from the first on, that may be imported; `None` if the hash table is empty and can't
    /// tell.
    pub fn imported_symbols(&self) -> Option<usize> {
        let definitions = self.definitions()?;
        // An executable also lists functions whose address it takes (elf_x86_64_hash_symbol of ld). Without position
        // independence their PLT entries stand for them; with it, they have none.
        let count = if self.is_executable() { definitions.count() } else { definitions.first() };
        count.map(|count| count as usize)
    }

    /// Calls `visit` with each of these symbols, the start of its name, and the number of bytes from there to the end
    /// of the string table.
    #[inline(always)]
    pub fn names(&self, symbols: std::ops::Range<usize>, mut visit: impl FnMut(usize, usize, usize)) {
        let (strings, size, table) = (self.strings, self.strings_size, self.symbols);
        for symbol in symbols {
            // SAFETY: the caller passes symbols that the table has.
            let offset = unsafe { (*table.add(symbol)).name as usize };
            if offset < size {
                visit(symbol, strings.wrapping_add(offset), size - offset);
            }
        }
    }

    /// Whether a symbol has to be defined somewhere: false for a weak one.
    pub fn is_required(&self, symbol: usize) -> bool {
        const STB_WEAK: u8 = 2;
        // SAFETY: as in `names`.
        unsafe { (*self.symbols.add(symbol)).info >> 4 != STB_WEAK }
    }

    /// `DT_SONAME`.
    pub fn soname(&self) -> Option<&CStr> {
        self.soname.map(|offset| self.string(offset))
    }

    /// `DT_NEEDED`.
    pub fn needed(&self) -> impl Iterator<Item = &CStr> {
        let mut at = self.dynamic;
        std::iter::from_fn(move || {
            // SAFETY: as in `with_tables`.
            let entry = unsafe { &*at };
            if entry.tag == DT_NULL {
                return None;
            }
            // SAFETY: as above.
            at = unsafe { at.add(1) };
            Some(entry)
        })
        .filter(|entry| entry.tag == DT_NEEDED)
        .map(|entry| self.string(entry.value))
    }

    fn string(&self, offset: usize) -> &CStr {
        // SAFETY: an offset of the object's own tables: a NUL-terminated string of its string table.
        unsafe { CStr::from_ptr(self.strings.wrapping_add(offset) as *const c_char) }
    }
}
