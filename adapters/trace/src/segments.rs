//! The segments of a loaded object, by the ELF header at its beginning.

use gimli::Reader as _;

use crate::find_object::Object;
use crate::stack::{Memory, Reader};

/// The program headers of a loaded object.
pub struct Segments<'a> {
    headers: Reader<'a>,
    /// The whole object.
    pub whole: Reader<'a>,
    base: usize,
}

/// The part of `Elf64_Phdr` that is needed.
struct Header {
    kind: u32,
    address: usize,
    size: usize,
}

impl<'a> Segments<'a> {
    /// The program headers of an object; `None` if its first segment does not begin with the ELF headers, or they can't
    /// be read.
    ///
    /// # Safety
    /// The object is loaded.
    pub unsafe fn of(object: &Object, memory: &'a Memory) -> Option<Segments<'a>> {
        let whole = Reader::new(memory, object.start, object.end);
        // `Elf64_Ehdr`: `e_ident`, `e_phoff` and `e_phnum`.
        let at = |offset: usize| whole.from(object.start.checked_add(offset)?);
        if at(0)?.read_u32().ok()? != u32::from_le_bytes(*b"\x7fELF") {
            return None;
        }
        let first = at(32)?.read_u64().ok()? as usize;
        let count = usize::from(at(56)?.read_u16().ok()?);
        let headers = at(first)?.split(count * size_of::<libc::Elf64_Phdr>()).ok()?;
        Some(Segments { headers, whole, base: object.base })
    }

    /// The contents of segments of one kind.
    pub fn of_kind(&self, kind: u32) -> impl Iterator<Item = Reader<'a>> {
        let mut headers = self.headers;
        let all = std::iter::from_fn(move || Header::read(headers.split(size_of::<libc::Elf64_Phdr>()).ok()?).ok());
        let found = all.filter(move |header| header.kind == kind);
        found.filter_map(|header| self.whole.from(self.base.wrapping_add(header.address))?.split(header.size).ok())
    }
}

impl Header {
    fn read(mut from: Reader) -> gimli::Result<Header> {
        let kind = from.read_u32()?;
        // Skips the flags and the file offset.
        from.skip(12)?;
        let address = from.read_u64()? as usize;
        from.skip(8)?;
        Ok(Header { kind, address, size: from.read_u64()? as usize })
    }
}
