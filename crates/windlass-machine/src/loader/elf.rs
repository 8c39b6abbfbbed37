//! The ELF headers that decide whether a library can be loaded into a program.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use object::elf::{self, ET_DYN, FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};

/// The kernel's limits (fs/binfmt_elf.c, `load_elf_phdrs` and `load_elf_binary`) on all program headers together, and
/// on the path of the interpreter. A sparse file can claim any number.
const MOST_HEADERS: usize = 65536;
const LONGEST_INTERPRETER: u64 = 4096;

/// The fields of an ELF file's headers that decide which libraries can be loaded into which programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// The machine that the code runs on.
    pub machine: Machine,
    /// Whether it is a shared object: a library, or a position-independent program.
    pub is_shared_object: bool,
    /// The program interpreter, which is the dynamic loader; None for static programs and libraries.
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
    /// Reads the headers of the file at `path`. `Ok(None)`: it is not an ELF file.
    pub fn read(path: &Path) -> std::io::Result<Option<Elf>> {
        Ok(Self::of(&File::open(path)?))
    }

    /// The same for an open file. Reads only a little of it, whatever its headers claim.
    pub fn of(file: &File) -> Option<Elf> {
        let cache = ReadCache::new(file);
        match FileKind::parse(&cache) {
            Ok(FileKind::Elf32) => Self::parse::<FileHeader32<Endianness>, _>(&cache, 32),
            Ok(FileKind::Elf64) => Self::parse::<FileHeader64<Endianness>, _>(&cache, 64),
            _ => None,
        }
    }

    fn parse<'data, H, R>(data: R, bits: u8) -> Option<Elf>
    where
        H: FileHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        let header = H::parse(data).ok()?;
        let endianness = header.endian().ok()?;
        // The largest number (PN_XNUM) means that the actual one is stored elsewhere, and is larger.
        let headers = usize::from(header.e_phnum(endianness)) * size_of::<H::ProgramHeader>();
        if headers > MOST_HEADERS {
            return None;
        }
        let segments = header.program_headers(endianness, data).ok()?;
        let interpreter = segments.iter().find(|segment| segment.p_type(endianness) == PT_INTERP);
        let interpreter = interpreter.filter(|segment| segment.p_filesz(endianness).into() <= LONGEST_INTERPRETER);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    /// The header of a 64-bit program of this byte order with this many program headers, the first of which is
    /// PT_INTERP.
    fn program(headers: u16, interpreter_size: u64) -> Vec<u8> {
        let mut file = b"\x7fELF\x02".to_vec();
        file.push(if cfg!(target_endian = "little") { 1 } else { 2 });
        file.push(1);
        file.resize(16, 0);
        let halves =
            |file: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|value| file.extend(value.to_ne_bytes()));
        let words =
            |file: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|value| file.extend(value.to_ne_bytes()));
        let longs =
            |file: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|value| file.extend(value.to_ne_bytes()));
        halves(&mut file, &[ET_DYN.0, elf::EM_X86_64.0]);
        words(&mut file, &[1]);
        longs(&mut file, &[0, 64, 0]);
        words(&mut file, &[0]);
        halves(&mut file, &[64, 56, headers, 64, 0, 0]);
        words(&mut file, &[PT_INTERP.0, 4]);
        longs(&mut file, &[120, 120, 120, interpreter_size, interpreter_size, 1]);
        file
    }

    #[test]
    fn sizes_are_not_believed() {
        let mut file = tempfile::tempfile().unwrap();
        let mut read = |bytes: &[u8]| {
            file.set_len(0).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.write_all(bytes).unwrap();
            // A terabyte of holes: a reader that believes the headers gets no memory for it.
            file.set_len(1 << 40).unwrap();
            Elf::of(&file)
        };
        let loader = [program(1, 7), b"/ld.so\0".to_vec()].concat();
        assert_eq!(read(&loader).unwrap().interpreter.unwrap(), "/ld.so");
        assert_eq!(read(&program(1, (1 << 40) - 4096)).unwrap().interpreter, None);
        assert_eq!(read(&program(u16::MAX, 7)), None);
    }
}
