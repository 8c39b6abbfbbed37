//! What ELF headers say about whether a library can be loaded into a program.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use object::elf::{self, ET_DYN, FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};

/// The parts of an ELF file's headers that decide what can be loaded into what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// What the file's code runs on.
    pub machine: Machine,
    /// Whether it is a shared object, as libraries are (and position-independent programs).
    pub is_shared_object: bool,
    /// The program interpreter, which is the dynamic loader; a static program and a library have none.
    pub interpreter: Option<OsString>,
}

/// An instruction set with its word size and byte order. The loader compares all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    bits: u8,
    endianness: Endianness,
    machine: elf::Machine,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.machine {
            elf::EM_386 => "x86",
            elf::EM_X86_64 => "x86-64",
            elf::EM_ARM => "ARM",
            elf::EM_AARCH64 => "AArch64",
            elf::EM_RISCV => "RISC-V",
            elf::EM_PPC64 => "PowerPC",
            elf::EM_S390 => "s390",
            elf::EM_MIPS => "MIPS",
            elf::EM_LOONGARCH => "LoongArch",
            other => return write!(f, "{}-bit ELF machine {}", self.bits, other.0),
        };
        let order = if self.endianness == Endianness::Big { " big-endian" } else { "" };
        write!(f, "{}-bit {name}{order}", self.bits)
    }
}

impl Elf {
    /// Reads the headers of the file at `path`. `Ok(None)`: it is no ELF file.
    pub fn read(path: &Path) -> std::io::Result<Option<Elf>> {
        let cache = ReadCache::new(File::open(path)?);
        Ok(match FileKind::parse(&cache) {
            Ok(FileKind::Elf32) => Self::parse::<FileHeader32<Endianness>, _>(&cache, 32),
            Ok(FileKind::Elf64) => Self::parse::<FileHeader64<Endianness>, _>(&cache, 64),
            _ => None,
        })
    }

    fn parse<'data, H, R>(data: R, bits: u8) -> Option<Elf>
    where
        H: FileHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        let header = H::parse(data).ok()?;
        let endianness = header.endian().ok()?;
        let segments = header.program_headers(endianness, data).ok()?;
        let interpreter = segments.iter().find(|segment| segment.p_type(endianness) == PT_INTERP);
        let interpreter = interpreter.and_then(|segment| segment.data(endianness, data).ok()).map(|path| {
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            OsString::from_vec(path[..end].to_vec())
        });
        Some(Elf {
            machine: Machine { bits, endianness, machine: header.e_machine(endianness) },
            is_shared_object: header.e_type(endianness) == ET_DYN,
            interpreter,
        })
    }
}
