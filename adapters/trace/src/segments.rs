//! The segments of a loaded object, by the ELF header at its beginning.

use windlass_interpose::object::Object;

/// The program headers of a loaded object.
pub struct Segments<'a> {
    headers: &'a [libc::Elf64_Phdr],
    base: usize,
}

impl<'a> Segments<'a> {
    /// Those of an object; `None` if its first segment does not begin with the headers.
    ///
    /// # Safety
    /// The object stays loaded as long as what is returned is used.
    pub unsafe fn of(object: &Object) -> Option<Segments<'a>> {
        const FIRST_PAGE: usize = 4096;
        // SAFETY: the linker has mapped the object from its first segment on.
        let elf = unsafe { &*(object.start as *const libc::Elf64_Ehdr) };
        let (offset, count) = (elf.e_phoff as usize, usize::from(elf.e_phnum));
        let end = offset.checked_add(count * size_of::<libc::Elf64_Phdr>())?;
        if elf.e_ident[..4] != *b"\x7fELF" || end > FIRST_PAGE || !offset.is_multiple_of(align_of::<libc::Elf64_Phdr>())
        {
            return None;
        }
        // SAFETY: within the page that was just read from. The link map is that of a loaded object.
        unsafe {
            let first = (object.start + offset) as *const libc::Elf64_Phdr;
            Some(Segments { headers: std::slice::from_raw_parts(first, count), base: (*object.link_map).l_addr })
        }
    }

    /// Headers of one kind.
    pub fn of_kind(&self, kind: u32) -> impl Iterator<Item = &'a libc::Elf64_Phdr> + use<'a> {
        self.headers.iter().filter(move |header| header.p_type == kind)
    }

    /// Where a segment is.
    pub fn address(&self, header: &libc::Elf64_Phdr) -> usize {
        self.base.wrapping_add(header.p_vaddr as usize)
    }

    /// The loaded, readable segment that a part of the file lies in, as far as it is in the file.
    pub fn around(&self, part: &libc::Elf64_Phdr) -> Option<&'a [u8]> {
        let holds = |header: &&libc::Elf64_Phdr| {
            let offset = part.p_vaddr.checked_sub(header.p_vaddr);
            let fits = |offset: u64| offset.checked_add(part.p_filesz).is_some_and(|end| end <= header.p_filesz);
            header.p_flags & libc::PF_R != 0 && offset.is_some_and(fits)
        };
        let segment = self.of_kind(libc::PT_LOAD).find(holds)?;
        // SAFETY: a readable segment of an object that stays loaded, as whoever made this states.
        Some(unsafe { std::slice::from_raw_parts(self.address(segment) as *const u8, segment.p_filesz as usize) })
    }

    /// The content of a part.
    pub fn content(&self, part: &libc::Elf64_Phdr) -> Option<&'a [u8]> {
        let around = self.around(part)?;
        let start = self.address(part) - around.as_ptr() as usize;
        around.get(start..start + part.p_filesz as usize)
    }
}
