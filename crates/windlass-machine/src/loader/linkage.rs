//! The objects and symbol versions that a shared object needs, and the versions that it defines: by these the dynamic
//! linker decides whether it can be loaded (glibc: elf/dl-version.c, `_dl_check_map_versions`).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64, VER_FLG_WEAK};
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, ReadCache};

/// In bytes. No library is as large, even with all debug information; a sparse file can claim any size.
const MAX_SIZE: u64 = 256 << 20;

/// The relevant parts of a 64-bit shared object.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Linkage {
    /// Names of the objects that must be loaded with it (DT_NEEDED).
    pub objects: BTreeSet<String>,
    /// Versions that it needs, each with the name of the object that must define it.
    pub needs: BTreeSet<(String, String)>,
    /// Versions that it defines.
    pub has: BTreeSet<String>,
}

impl Linkage {
    /// Reads the file at `path`. `Ok(None)`: it has no such data, or none that can be understood.
    pub fn read(path: &Path) -> std::io::Result<Option<Linkage>> {
        let file = File::open(path)?;
        let is_usual = file.metadata()?.len() <= MAX_SIZE;
        Ok(is_usual.then(|| Self::of(&file).ok()).flatten())
    }

    fn of(file: &File) -> object::Result<Linkage> {
        let data = &ReadCache::new(file);
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut linkage = Linkage::default();
        if let Some((entries, strings)) = sections.dynamic(endian, data)? {
            let strings = sections.strings(endian, data, strings)?;
            for entry in entries.iter().filter(|entry| entry.d_tag(endian) == DT_NEEDED) {
                let name = u32::try_from(entry.d_val(endian)).ok().and_then(|name| strings.get(name).ok());
                linkage.objects.extend(name.map(text));
            }
        }
        if let Some((mut objects, strings)) = sections.gnu_verneed(endian, data)? {
            let strings = sections.strings(endian, data, strings)?;
            while let Some((object, mut versions)) = objects.next()? {
                let object = text(object.file(endian, strings)?);
                while let Some(version) = versions.next()? {
                    if !version.vna_flags.get(endian).contains(VER_FLG_WEAK) {
                        linkage.needs.insert((object.clone(), text(version.name(endian, strings)?)));
                    }
                }
            }
        }
        if let Some((mut versions, strings)) = sections.gnu_verdef(endian, data)? {
            let strings = sections.strings(endian, data, strings)?;
            while let Some((_, mut names)) = versions.next()? {
                // The first name is its own, the others are its predecessors.
                if let Some(name) = names.next()? {
                    linkage.has.insert(text(name.name(endian, strings)?));
                }
            }
        }
        Ok(linkage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_has_what_this_program_needs() {
        let own = Linkage::read(Path::new("/proc/self/exe")).unwrap().unwrap();
        let maps = crate::processes::maps::files(std::process::id()).unwrap();
        let libc = maps.iter().find(|file| file.name() == b"libc.so.6").unwrap();
        let libc = Linkage::read(&libc.path).unwrap().unwrap();
        let needed: Vec<_> = own.needs.iter().filter(|(object, _)| object == "libc.so.6").collect();
        assert!(own.objects.contains("libc.so.6") && needed.len() > 3, "{own:?}");
        assert!(needed.iter().all(|(_, version)| libc.has.contains(version)), "{needed:?} {libc:?}");
        assert!(own.has.is_empty());
        assert_eq!(Linkage::read(Path::new("/etc/passwd")).unwrap(), None);
    }
}
