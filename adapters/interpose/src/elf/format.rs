//! The ELF structures in the file (System V gABI), as far as they are read.

pub(super) const HIDDEN: u16 = 0x8000;

/// Tags below this are stored by their number.
pub(super) const LOW_TAGS: usize = 38;

pub(super) const DT_NULL: isize = 0;
pub(super) const DT_NEEDED: isize = 1;
pub(super) const DT_PLTRELSZ: isize = 2;
pub(super) const DT_STRTAB: isize = 5;
pub(super) const DT_SYMTAB: isize = 6;
pub(super) const DT_RELA: isize = 7;
pub(super) const DT_RELASZ: isize = 8;
pub(super) const DT_STRSZ: isize = 10;
pub(super) const DT_SONAME: isize = 14;
pub(super) const DT_DEBUG: isize = 21;
pub(super) const DT_JMPREL: isize = 23;
pub(super) const DT_GNU_HASH: isize = 0x6fff_fef5;
pub(super) const DT_VERSYM: isize = 0x6fff_fff0;
pub(super) const DT_RELACOUNT: isize = 0x6fff_fff9;
pub(super) const DT_VERDEF: isize = 0x6fff_fffc;
pub(super) const DT_VERDEFNUM: isize = 0x6fff_fffd;
pub(super) const DT_VERNEED: isize = 0x6fff_fffe;
pub(super) const DT_VERNEEDNUM: isize = 0x6fff_ffff;

/// `Elf64_Dyn`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dyn {
    pub(super) tag: isize,
    pub(super) value: usize,
}

/// `Elf64_Sym`.
#[repr(C)]
pub(crate) struct Sym {
    pub(crate) name: u32,
    pub(crate) info: u8,
    pub(super) other: u8,
    pub(crate) section: u16,
    pub(crate) value: u64,
    pub(super) size: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
pub(super) struct Rela {
    pub(super) offset: u64,
    // `r_info`: on the supported machines, which are little-endian, its lower half comes first.
    pub(super) kind: u32,
    pub(super) symbol: u32,
    pub(super) addend: i64,
}

/// `Elf64_Verneed`.
#[repr(C)]
pub(super) struct Verneed {
    pub(super) version: u16,
    pub(super) count: u16,
    pub(super) file: u32,
    pub(super) aux: u32,
    pub(super) next: u32,
}

/// `Elf64_Vernaux`.
#[repr(C)]
pub(super) struct Vernaux {
    pub(super) hash: u32,
    pub(super) flags: u16,
    pub(super) other: u16,
    pub(super) name: u32,
    pub(super) next: u32,
}

/// `Elf64_Verdef`.
#[repr(C)]
pub(super) struct Verdef {
    pub(super) version: u16,
    pub(super) flags: u16,
    pub(super) index: u16,
    pub(super) count: u16,
    pub(super) hash: u32,
    pub(super) aux: u32,
    pub(super) next: u32,
}

/// `Elf64_Verdaux`.
#[repr(C)]
pub(super) struct Verdaux {
    pub(super) name: u32,
    pub(super) next: u32,
}
