//! A loaded object: what its program headers and its dynamic section say (System V gABI; symbol versions as in the LSB).

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::definitions::Definitions;

/// One loaded object.
///
/// Everything here points into the object's own mapping. It must not be used longer than the object is known to stay loaded: for
/// the length of a callback of `dl_iterate_phdr`, or because something holds a handle on it.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// Difference between the addresses in the file and those in memory.
    pub base: usize,
    /// First address of its mapping.
    pub start: usize,
    /// End of its mapping.
    pub end: usize,
    /// Path; empty for the executable.
    pub path: *const c_char,
    /// Its dynamic section.
    pub dynamic: *const Dyn,
    /// What becomes read-only after relocation: start and end.
    relro: (usize, usize),
    /// What the file says can be written, and what can be run: from the first segment's start to the last one's end.
    writable: (usize, usize),
    code: (usize, usize),
    strings: usize,
    strings_size: usize,
    symbols: *const Sym,
    hash: *const u32,
    versions: *const u16,
    needs: (*const Verneed, usize),
    defines: (*const Verdef, usize),
    /// Relocations of the procedure linkage table, and all others.
    relocations: [(*const Rela, usize); 2],
    soname: Option<usize>,
    /// `DT_DEBUG`, which the linker fills in an executable: its list of objects.
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

    /// The object that a callback of `dl_iterate_phdr` is given; `None` if it has no dynamic section.
    ///
    /// # Safety
    /// `info` comes from `dl_iterate_phdr`, and the object stays loaded as long as the result is used.
    pub unsafe fn of(info: &libc::dl_phdr_info) -> Option<Loaded> {
        let base = info.dlpi_addr as usize;
        let (mut dynamic, mut start, mut end, mut relro) = (ptr::null(), usize::MAX, 0, (0, 0));
        let [mut writable, mut code] = [(usize::MAX, 0); 2];
        // SAFETY: dlpi_phdr has dlpi_phnum entries.
        for header in unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) } {
            let at = base.wrapping_add(header.p_vaddr as usize);
            let behind = at.wrapping_add(header.p_memsz as usize);
            match header.p_type {
                libc::PT_DYNAMIC => dynamic = at as *const Dyn,
                libc::PT_GNU_RELRO => relro = (at, behind),
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
        let unknown = Loaded { base, start, end, path, dynamic, relro, writable, code, ..Loaded::UNKNOWN };
        // SAFETY: as the caller states.
        (!dynamic.is_null()).then(|| unsafe { unknown.with_tables() }).filter(|object| object.strings != 0)
    }

    /// An object of the linker's own list, of which no more is known than where its dynamic section lies.
    ///
    /// # Safety
    /// It stays loaded as long as the result is used.
    unsafe fn of_list(link: &Link) -> Loaded {
        let unknown = Loaded { base: link.base, start: link.base, dynamic: link.dynamic, ..Loaded::UNKNOWN };
        // SAFETY: as the caller states.
        unsafe { unknown.with_tables() }
    }

    /// # Safety
    /// As for `of`.
    unsafe fn with_tables(mut self) -> Loaded {
        // The low tags by their numbers: nearly all entries have one.
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
        // The relative ones come first, and name no symbol.
        let (table, count) = self.relocations[1];
        let relative = relative.min(count);
        self.relocations[1] = (table.wrapping_add(relative), count - relative);
        self
    }

    /// Whether an address lies in this object.
    pub fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The linker's list of objects, of an executable that it has loaded.
    pub fn list(&self) -> *const Debug {
        self.debug
    }

    /// Whether this is the executable.
    pub fn is_executable(&self) -> bool {
        // SAFETY: null, or a NUL-terminated string.
        self.path.is_null() || unsafe { *self.path } == 0
    }

    /// What it defines, to be asked by name.
    pub fn definitions(&self) -> Option<Definitions> {
        (!self.hash.is_null() && !self.symbols.is_null()).then_some(Definitions {
            table: self.hash,
            symbols: self.symbols,
            versions: self.versions,
            strings: self.strings,
            base: self.base,
        })
    }

    /// How many symbols, from the first on, can be imported; `None` if the hash table is empty, where it does not tell.
    pub fn imported_symbols(&self) -> Option<usize> {
        let definitions = self.definitions()?;
        // An executable also lists functions whose address it takes (elf_x86_64_hash_symbol of ld): without position independence their PLT
        // entries stand for them; with it, they have none.
        let count = if self.is_executable() { definitions.count() } else { definitions.first() };
        count.map(|count| count as usize)
    }

    /// Calls `visit` with each of these symbols, where its name begins, and how many bytes there are from there to the end of the string table.
    #[inline(always)]
    pub fn names(&self, symbols: std::ops::Range<usize>, mut visit: impl FnMut(usize, usize, usize)) {
        let (strings, size, table) = (self.strings, self.strings_size, self.symbols);
        for symbol in symbols {
            // SAFETY: the caller names symbols that the table has.
            let offset = unsafe { (*table.add(symbol)).name as usize };
            if offset < size {
                visit(symbol, strings.wrapping_add(offset), size - offset);
            }
        }
    }

    /// Whether a symbol has to be there: not so for a weak one.
    pub fn is_required(&self, symbol: usize) -> bool {
        const STB_WEAK: u8 = 2;
        // SAFETY: as in `names`.
        unsafe { (*self.symbols.add(symbol)).info >> 4 != STB_WEAK }
    }

    /// Calls `visit` with each slot into which the linker writes the address of a symbol, and the number of that symbol, until it says that it has
    /// seen enough. Only symbols whose place in `filter`, by the lowest bits of their number, is not 0.
    pub fn slots(&self, filter: &[u8; FILTER], mut visit: impl FnMut(&Slot) -> bool) {
        for (place, (table, count)) in self.relocations.into_iter().enumerate() {
            for at in 0..count {
                // SAFETY: the table has this many entries.
                let relocation = unsafe { &*table.add(at) };
                if filter[relocation.symbol as usize % FILTER] == 0 {
                    continue;
                }
                if !is_slot(relocation.kind) || relocation.addend != 0 || relocation.symbol == 0 {
                    continue;
                }
                let slot = Slot {
                    at: self.base.wrapping_add(relocation.offset as usize) as *mut usize,
                    symbol: relocation.symbol as usize,
                    kind: relocation.kind,
                    number: (place == 0).then_some(at as u32),
                };
                if !visit(&slot) {
                    return;
                }
            }
        }
    }

    /// The name of the version with which a symbol is looked for: that which an imported one needs, or which the object itself gives to it.
    pub fn version_of(&self, symbol: usize) -> Option<&CStr> {
        // SAFETY: there is a version for each symbol.
        let wanted = unsafe { self.versions.as_ref().map(|_| *self.versions.add(symbol))? } & !HIDDEN;
        let (mut needed, mut defined) = (self.needs.0, self.defines.0);
        // SAFETY: a list of `needs.1` records, each with a list of `Verneed::count` auxiliary ones, and one of `defines.1` records, each with at
        // least one auxiliary one, the version's own name; the offsets between them are the linker's, and 0 ends a list. The names belong to the
        // string table. Version 0 is that of local symbols, 1 is no version.
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

    /// Whether it defines a symbol version of this name, or none at all.
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

    /// Whether a slot lies in a page that the linker has made read-only (`_dl_protect_relro`, which rounds both ends down).
    pub fn is_read_only(&self, slot: usize, page: usize) -> bool {
        let (start, end) = (self.relro.0 & !(page - 1), self.relro.1 & !(page - 1));
        (start..end).contains(&slot)
    }

    /// Whether the linker is done with it. It goes through the relocations of the procedure linkage table last, and leaves nothing of them as it is in the
    /// file; where there are none, through these of functions that choose among several (`STT_GNU_IFUNC`).
    pub fn is_relocated(&self) -> bool {
        const MARKS: [u32; 2] = [KINDS[0], IRELATIVE];
        let last = self.relocations.iter().find(|(_, count)| *count > 0).map(|(table, count)| {
            // SAFETY: the table has this many entries.
            unsafe { &*table.add(count - 1) }
        });
        let Some(last) = last.filter(|last| MARKS.contains(&last.kind) && self.base != 0) else { return true };
        let slot = self.base.wrapping_add(last.offset as usize) as *const usize;
        // SAFETY: a relocation names a word of the object.
        unsafe { slot.read_unaligned() >= self.end - self.start }
    }

    /// What an executable has copied from its libraries (`R_X86_64_COPY`): address and size of each variable.
    pub fn copied(&self) -> impl Iterator<Item = (usize, usize)> {
        let (table, count) = if self.is_executable() { self.relocations[1] } else { (ptr::null(), 0) };
        // SAFETY: the table has this many entries, and its symbols exist.
        (0..count).map(move |at| unsafe { &*table.add(at) }).filter(|one| one.kind == COPY).map(|one| {
            // SAFETY: as above.
            let size = unsafe { (*self.symbols.add(one.symbol as usize)).size };
            (self.base.wrapping_add(one.offset as usize), size as usize)
        })
    }

    /// Where the executable's entry of the procedure linkage table stands for a function, to all who take its address: where it is not
    /// position-independent.
    pub fn stand_in(&self, symbol: usize) -> Option<usize> {
        // SAFETY: the table has this symbol.
        let symbol = unsafe { &*self.symbols.add(symbol) };
        (symbol.section == 0 && symbol.value != 0).then(|| self.base.wrapping_add(symbol.value as usize))
    }

    /// Whether the file says that a slot can be written: not so where code itself is relocated (`DT_TEXTREL`).
    pub fn is_writable(&self, slot: *const usize) -> bool {
        (self.writable.0..self.writable.1).contains(&(slot as usize))
    }

    /// Whether a value is what the linker has put into a slot for the time until the first call: an address in the object's procedure linkage table.
    pub fn is_unbound(&self, slot: &Slot, value: usize) -> bool {
        let Some(number) = slot.number else { return false };
        if value < self.code.0 || value.saturating_add(ENTRY) > self.code.1 {
            return false;
        }
        // There the number of the relocation is pushed (x86-64 psABI, 5.2), behind an `endbr64` where that is wanted.
        #[cfg(target_arch = "x86_64")]
        {
            const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
            const PUSH: u8 = 0x68;
            // SAFETY: so many bytes of the object's code.
            let bytes: [u8; ENTRY] = unsafe { (value as *const [u8; ENTRY]).read() };
            let code = bytes.strip_prefix(&ENDBR64).unwrap_or(&bytes);
            code[0] == PUSH && code[1..5] == number.to_le_bytes()
        }
        // There all slots have the address of the table's first entry.
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = number;
            true
        }
    }

    fn string(&self, offset: usize) -> &CStr {
        // SAFETY: an offset of the object's own tables: a NUL-terminated string of its string table.
        unsafe { CStr::from_ptr(self.strings.wrapping_add(offset) as *const c_char) }
    }
}

/// A word into which the linker writes the address of a symbol.
pub struct Slot {
    /// Where it is.
    pub at: *mut usize,
    /// The number of the symbol.
    pub symbol: usize,
    kind: u32,
    /// Among the relocations of the procedure linkage table.
    number: Option<u32>,
}

impl Slot {
    /// Whether it is a variable of the program's own that begins as this address, and not one through which only the compiler's calls go.
    pub fn is_variable(&self) -> bool {
        self.kind == KINDS[2]
    }
}

/// As many bytes as tell an entry of the procedure linkage table.
const ENTRY: usize = 9;

/// Relocations that make a slot hold the address of a symbol.
#[cfg(target_arch = "x86_64")]
const KINDS: [u32; 3] = [7, 6, 1]; // R_X86_64_JUMP_SLOT, _GLOB_DAT, _64
#[cfg(target_arch = "x86_64")]
const IRELATIVE: u32 = 37;
#[cfg(target_arch = "x86_64")]
const COPY: u32 = 5;
#[cfg(target_arch = "aarch64")]
const KINDS: [u32; 3] = [1026, 1025, 257]; // R_AARCH64_JUMP_SLOT, _GLOB_DAT, _ABS64
#[cfg(target_arch = "aarch64")]
const IRELATIVE: u32 = 1032;
#[cfg(target_arch = "aarch64")]
const COPY: u32 = 1024;

fn is_slot(kind: u32) -> bool {
    KINDS.contains(&kind)
}

/// How many symbols `Loaded::slots` tells apart before it asks.
pub const FILTER: usize = 1024;

const HIDDEN: u16 = 0x8000;

/// Tags below this are counted from 0.
const LOW_TAGS: usize = 38;

const DT_NULL: isize = 0;
const DT_NEEDED: isize = 1;
const DT_PLTRELSZ: isize = 2;
const DT_STRTAB: isize = 5;
const DT_SYMTAB: isize = 6;
const DT_RELA: isize = 7;
const DT_RELASZ: isize = 8;
const DT_STRSZ: isize = 10;
const DT_SONAME: isize = 14;
const DT_DEBUG: isize = 21;
const DT_JMPREL: isize = 23;
const DT_GNU_HASH: isize = 0x6fff_fef5;
const DT_VERSYM: isize = 0x6fff_fff0;
const DT_RELACOUNT: isize = 0x6fff_fff9;
const DT_VERDEF: isize = 0x6fff_fffc;
const DT_VERDEFNUM: isize = 0x6fff_fffd;
const DT_VERNEED: isize = 0x6fff_fffe;
const DT_VERNEEDNUM: isize = 0x6fff_ffff;

/// `Elf64_Dyn`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dyn {
    tag: isize,
    value: usize,
}

/// `struct r_debug` of <link.h>.
#[repr(C)]
pub struct Debug {
    version: c_int,
    first: *const Link,
}

/// The public part of `struct link_map` of <link.h>.
#[repr(C)]
pub struct Link {
    base: usize,
    path: *const c_char,
    dynamic: *const Dyn,
    next: *const Link,
}

impl Debug {
    /// The objects that are loaded, in the order of loading.
    ///
    /// # Safety
    /// No other thread loads or unloads any meanwhile.
    pub unsafe fn objects(&self) -> impl Iterator<Item = (*const Link, Loaded)> {
        let mut at = self.first;
        std::iter::from_fn(move || {
            // SAFETY: as the caller states.
            let link = unsafe { at.as_ref() }?;
            let found = at;
            at = link.next;
            // SAFETY: as above.
            Some((found, unsafe { Loaded::of_list(link) }))
        })
    }
}

/// `Elf64_Sym`.
#[repr(C)]
pub(crate) struct Sym {
    pub(crate) name: u32,
    pub(crate) info: u8,
    other: u8,
    pub(crate) section: u16,
    pub(crate) value: u64,
    size: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Rela {
    offset: u64,
    // `r_info`: on the little-endian machines that are supported its lower half comes first.
    kind: u32,
    symbol: u32,
    addend: i64,
}

/// `Elf64_Verneed`.
#[repr(C)]
struct Verneed {
    version: u16,
    count: u16,
    file: u32,
    aux: u32,
    next: u32,
}

/// `Elf64_Vernaux`.
#[repr(C)]
struct Vernaux {
    hash: u32,
    flags: u16,
    other: u16,
    name: u32,
    next: u32,
}

/// `Elf64_Verdef`.
#[repr(C)]
struct Verdef {
    version: u16,
    flags: u16,
    index: u16,
    count: u16,
    hash: u32,
    aux: u32,
    next: u32,
}

/// `Elf64_Verdaux`.
#[repr(C)]
struct Verdaux {
    name: u32,
    next: u32,
}
