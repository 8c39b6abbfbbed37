//! What a loaded object says of itself in its dynamic section (System V gABI; symbol versions as in the LSB).

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::definitions::Definitions;
use crate::elf::Sym;
use crate::object::{Dyn, Object};

/// The dynamic section of a loaded object.
///
/// Everything here points into the object's own mapping, so an image must not outlive the guarantee under which it was
/// made: that the object stays loaded.
pub struct Image {
    dynamic: *const Dyn,
    base: usize,
    start: usize,
    end: usize,
    strings: usize,
}

impl Image {
    /// The image of a known object.
    ///
    /// # Safety
    /// The object stays loaded as long as the image, or anything that it returned, is used.
    pub unsafe fn of_object(object: &Object) -> Option<Image> {
        // SAFETY: as the caller states.
        let (base, dynamic) = unsafe { ((*object.link_map).l_addr, (*object.link_map).l_ld) };
        Image::new(dynamic, base, object.start, object.end)
    }

    /// The image that a callback of `dl_iterate_phdr` is given.
    ///
    /// # Safety
    /// As for `of_object`.
    pub unsafe fn of(info: &libc::dl_phdr_info) -> Option<Image> {
        let base = info.dlpi_addr as usize;
        let (mut dynamic, mut start, mut end) = (None, usize::MAX, 0);
        for index in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: dlpi_phdr has dlpi_phnum entries.
            let header = unsafe { &*info.dlpi_phdr.add(index) };
            let at = base.wrapping_add(header.p_vaddr as usize);
            match header.p_type {
                libc::PT_DYNAMIC => dynamic = Some(at as *const Dyn),
                libc::PT_LOAD => {
                    start = start.min(at);
                    end = end.max(at.wrapping_add(header.p_memsz as usize));
                }
                _ => {}
            }
        }
        Image::new(dynamic?, base, start, end)
    }

    fn new(dynamic: *const Dyn, base: usize, start: usize, end: usize) -> Option<Image> {
        if dynamic.is_null() {
            return None;
        }
        let mut image = Image { dynamic, base, start, end, strings: 0 };
        image.strings = image.address(DT_STRTAB)?;
        Some(image)
    }

    /// `DT_SONAME`.
    pub fn soname(&self) -> Option<*const c_char> {
        self.values(DT_SONAME).next().map(|offset| self.string(offset))
    }

    /// `DT_NEEDED`.
    pub fn needed(&self) -> impl Iterator<Item = *const c_char> + '_ {
        self.values(DT_NEEDED).map(|offset| self.string(offset))
    }

    /// Names of the symbols that the object has resolved for it: those that its relocations name. (The hash tables don't list
    /// undefined symbols, and that of an executable that exports nothing may be empty.)
    pub fn imports(&self) -> impl Iterator<Item = *const c_char> + '_ {
        self.relocations(DT_JMPREL, DT_PLTRELSZ).chain(self.relocations(DT_RELA, DT_RELASZ))
    }

    /// Names of the symbols of one relocation table.
    fn relocations(&self, table: isize, size: isize) -> impl Iterator<Item = *const c_char> + '_ {
        let table = self.address(table).zip(self.values(size).next()).zip(self.address(DT_SYMTAB));
        let count = table.map_or(0, |((_, size), _)| size / size_of::<Rela>());
        (0..count).filter_map(move |index| {
            let ((table, _), symbols) = table?;
            // SAFETY: the table has `count` entries; they name symbols of this object's symbol table, 0 is none.
            unsafe {
                let symbol = ((*(table as *const Rela).add(index)).info >> 32) as usize;
                (symbol != 0).then(|| self.string((*(symbols as *const Sym).add(symbol)).name as usize))
            }
        })
    }

    /// Whether the object calls a function of this name through its procedure linkage table, so that another definition can
    /// take the call. `-Bsymbolic` and its kin bind such calls inside the object.
    pub fn calls_through_plt(&self, name: &CStr) -> bool {
        // SAFETY: strings of this object's table.
        self.relocations(DT_JMPREL, DT_PLTRELSZ).any(|at| unsafe { CStr::from_ptr(at) } == name)
    }

    /// Names of the symbol versions that this object needs, from `DT_VERNEED`.
    pub fn versions_needed(&self) -> Vec<*const c_char> {
        let mut versions = Vec::new();
        let (Some(start), Some(count)) = (self.address(DT_VERNEED), self.values(DT_VERNEEDNUM).next()) else {
            return versions;
        };
        let mut at = start as *const Verneed;
        // SAFETY: the section is a list of `count` records, each with a list of `Verneed::count` auxiliary ones; the offsets
        // between them are the linker's, and 0 ends a list.
        unsafe {
            for _ in 0..count {
                let mut aux = at.byte_add((*at).aux as usize) as *const Vernaux;
                for _ in 0..(*at).count {
                    versions.push(self.string((*aux).name as usize));
                    if (*aux).next == 0 {
                        break;
                    }
                    aux = aux.byte_add((*aux).next as usize);
                }
                if (*at).next == 0 {
                    break;
                }
                at = at.byte_add((*at).next as usize);
            }
        }
        versions
    }

    /// Names of the symbol versions that this object defines, from `DT_VERDEF`.
    pub fn versions_defined(&self) -> Vec<*const c_char> {
        let mut versions = Vec::new();
        let (Some(start), Some(count)) = (self.address(DT_VERDEF), self.values(DT_VERDEFNUM).next()) else {
            return versions;
        };
        let mut at = start as *const Verdef;
        // SAFETY: the section is a list of `count` records, each with at least one auxiliary one, the version's own name.
        unsafe {
            for _ in 0..count {
                let aux = at.byte_add((*at).aux as usize) as *const Verdaux;
                versions.push(self.string((*aux).name as usize));
                if (*at).next == 0 {
                    break;
                }
                at = at.byte_add((*at).next as usize);
            }
        }
        versions
    }

    /// What the object defines, to be asked by name; `None` if it has no GNU hash table.
    pub fn definitions(&self) -> Option<Definitions> {
        let table = self.address(DT_GNU_HASH)? as *const u32;
        let symbols = self.address(DT_SYMTAB)? as *const Sym;
        let versions = self.address(DT_VERSYM).map_or(ptr::null(), |at| at as *const u16);
        Some(Definitions { table, symbols, versions, strings: self.strings, base: self.base })
    }

    fn string(&self, offset: usize) -> *const c_char {
        self.strings.wrapping_add(offset) as *const c_char
    }

    /// glibc relocates some of these addresses in place and leaves others as they are in the file.
    fn address(&self, tag: isize) -> Option<usize> {
        let value = self.values(tag).next()?;
        let relocated = (self.start..self.end).contains(&value);
        Some(if relocated { value } else { value.wrapping_add(self.base) })
    }

    fn values(&self, tag: isize) -> impl Iterator<Item = usize> + '_ {
        let mut at = self.dynamic;
        std::iter::from_fn(move || {
            // SAFETY: the dynamic section of a loaded object is readable and ends with DT_NULL.
            let entry = unsafe { &*at };
            if entry.tag == DT_NULL {
                return None;
            }
            // SAFETY: as above, and this is not the last entry.
            at = unsafe { at.add(1) };
            Some((entry.tag, entry.value))
        })
        .filter_map(move |(found, value)| (found == tag).then_some(value))
    }
}

const DT_NULL: isize = 0;
const DT_NEEDED: isize = 1;
const DT_PLTRELSZ: isize = 2;

const DT_STRTAB: isize = 5;
const DT_SYMTAB: isize = 6;
const DT_RELA: isize = 7;
const DT_RELASZ: isize = 8;
const DT_SONAME: isize = 14;
const DT_JMPREL: isize = 23;

const DT_GNU_HASH: isize = 0x6fff_fef5;
const DT_VERSYM: isize = 0x6fff_fff0;
const DT_VERDEF: isize = 0x6fff_fffc;
const DT_VERDEFNUM: isize = 0x6fff_fffd;
const DT_VERNEED: isize = 0x6fff_fffe;
const DT_VERNEEDNUM: isize = 0x6fff_ffff;

/// `Elf64_Rela`.
#[repr(C)]
struct Rela {
    offset: u64,
    info: u64,
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
