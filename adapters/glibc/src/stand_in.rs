//! The source of a libc.so.6 that has nothing newer than [`NEWEST`](crate::NEWEST).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use object::read::elf::{FileHeader, Sym as _};
use object::{Endianness, SymbolIndex, elf};

/// An assembler file, and its version script.
#[derive(Debug, Default)]
pub struct Source {
    pub assembler: String,
    pub versions: String,
}

/// Takes the names and versions from the bytes of a real libc.so.6.
///
/// Symbols that were in libpthread.so.0 or libdl.so.2 before glibc 2.34 are left out by the same rule: they got a new
/// version when they moved.
pub fn of(libc: &[u8]) -> Result<Source, Box<dyn std::error::Error>> {
    let header = elf::FileHeader64::<Endianness>::parse(libc)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, libc)?;
    let symbols = sections.symbols(endian, libc, elf::SHT_DYNSYM)?;
    let versions = sections.versions(endian, libc)?.ok_or("has no symbol versions")?;
    let mut nodes: BTreeMap<(u32, u32, u32), BTreeSet<String>> = BTreeMap::new();
    let mut source = Source::default();
    for (index, symbol) in symbols.iter().enumerate() {
        let version = versions.version_index(endian, SymbolIndex(index));
        // One name can have several versions. A new reference gets the one that is not hidden. The names of the
        // versions themselves are absolute symbols.
        if symbol.is_undefined(endian) || symbol.st_shndx(endian) == elf::SHN_ABS || version.is_hidden() {
            continue;
        }
        let Some(version) = versions.version(version.into())?.and_then(|version| number(version.name())) else {
            continue;
        };
        let (major, minor, _) = version;
        if (major, minor) > crate::NEWEST {
            continue;
        }
        let name = std::str::from_utf8(symbol.name(endian, symbols.strings())?)?;
        let kind = match symbol.st_type() {
            elf::STT_OBJECT => "object",
            elf::STT_FUNC | elf::STT_GNU_IFUNC => "function",
            _ => continue,
        };
        if nodes.entry(version).or_default().insert(name.to_owned()) {
            writeln!(source.assembler, ".globl {name}\n.type {name}, %{kind}\n{name}:\n.skip 8\n.size {name}, 8")?;
        }
    }
    if nodes.is_empty() {
        return Err("has no symbol of a version that is old enough".into());
    }
    for ((major, minor, patch), names) in &nodes {
        let patch = if *patch == 0 { String::new() } else { format!(".{patch}") };
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        writeln!(source.versions, "GLIBC_{major}.{minor}{patch} {{ global: {}; }};", names.join("; "))?;
    }
    source.versions.push_str("GLIBC_PRIVATE { local: *; };\n");
    Ok(source)
}

/// `GLIBC_2.2.5` as a number; None for GLIBC_PRIVATE and others.
fn number(version: &[u8]) -> Option<(u32, u32, u32)> {
    let version = std::str::from_utf8(version).ok()?.strip_prefix("GLIBC_")?;
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    let number = (numbers.next()??, numbers.next()??, numbers.next().unwrap_or(Some(0))?);
    numbers.next().is_none().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_in_libc_by_then_is_there() {
        let libc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];
        let libc = libc.iter().find_map(|path| std::fs::read(path).ok()).unwrap();
        let source = of(&libc).unwrap();
        let has = |name: &str| source.assembler.contains(&format!("\n{name}:\n"));
        for name in ["memcpy", "malloc", "secure_getenv", "dl_iterate_phdr", "environ", "__errno_location"] {
            assert!(has(name), "{name}");
        }
        // From 2.18 to 2.35; in other libraries before 2.34; not functions for programs.
        for name in
            ["gettid", "statx", "_dl_find_object", "stat64", "dlsym", "pthread_key_create", "GLIBC_2.4", "_rtld_global"]
        {
            assert!(!has(name), "{name}");
        }
        assert!(source.versions.contains("GLIBC_2.17 {") && !source.versions.contains("GLIBC_2.18"));
        assert!(of(b"no ELF").is_err() && of(&libc[..4096]).is_err());
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(number(b"GLIBC_2.2.5"), Some((2, 2, 5)));
        assert!(number(b"GLIBC_2.17") > number(b"GLIBC_2.4"));
        for other in [&b"GLIBC_PRIVATE"[..], b"GLIBC_2", b"GLIBC_2.1.2.3", b"GCC_3.0", b"GLIBC_ABI_DT_RELR"] {
            assert_eq!(number(other), None);
        }
    }
}
