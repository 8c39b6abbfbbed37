//! The loaded objects that stacks refer to, each described once.

use std::ffi::{CStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use windlass_interpose::append_list::AppendList;
use windlass_interpose::fork_lock::ForkLock;
use windlass_interpose::object::{LinkMap, Object};

use crate::json::Line;
use crate::sink;

/// The objects that were met in one process.
pub struct Modules {
    known: AppendList<Module>,
    meeting: ForkLock,
}

struct Module {
    link_map: usize,
    /// The dynamic section: another object that was loaded later has another, or is the same file at the same place.
    dynamic: usize,
    base: usize,
}

impl Modules {
    /// None is known.
    pub const fn new() -> Modules {
        Modules { known: AppendList::new(), meeting: ForkLock::new() }
    }

    /// The number of the module that holds an address, and the address in that module's file. A module that is new is described
    /// in an event of its own before this returns.
    pub fn locate(&self, process: u32, address: usize) -> Option<(usize, usize)> {
        let object = Object::of(address)?;
        let module = Module::of(&object);
        let number = self.number(&module).unwrap_or_else(|| {
            // Described before anything is locked: `dl_iterate_phdr` waits for the dynamic linker's lock.
            let (path, build_id) = (path_of(&object), build_id(address));
            let _guard = self.meeting.lock();
            self.number(&module).unwrap_or_else(|| {
                let number = self.known.len();
                let mut line = Line::new("module");
                line.number("pid", process).number("id", number as i64).path("path", &path);
                match build_id {
                    Some(id) => line.text("build_id", id.as_bytes()),
                    None => line.raw("build_id", "null"),
                };
                sink::append(&line.finish());
                self.known.push(Module { ..module });
                number
            })
        });
        Some((number, address.wrapping_sub(module.base)))
    }

    fn number(&self, module: &Module) -> Option<usize> {
        self.known.iter().position(|known| known.link_map == module.link_map && known.dynamic == module.dynamic)
    }
}

impl Module {
    fn of(object: &Object) -> Module {
        // SAFETY: code of the object is on this thread's stack, so it stays loaded.
        let LinkMap { l_addr, l_ld, .. } = unsafe { &*object.link_map };
        Module { link_map: object.link_map as usize, dynamic: *l_ld as usize, base: *l_addr }
    }
}

fn path_of(object: &Object) -> Vec<u8> {
    // SAFETY: as above; the name lives as long as the object.
    let name = unsafe { (*object.link_map).l_name };
    // SAFETY: as above.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    if !name.is_empty() {
        return name.to_bytes().to_vec();
    }
    // The executable.
    std::fs::read_link("/proc/self/exe").map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default()
}

struct Search {
    address: usize,
    found: Option<String>,
}

/// The GNU build id of the object that holds an address, in hexadecimal.
fn build_id(address: usize) -> Option<String> {
    let mut search = Search { address, found: None };
    // SAFETY: the callback keeps nothing and gets `search` back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid record, and our own `Search`.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the program headers of a loaded object.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr as usize;
    let within = |header: &libc::Elf64_Phdr, address: usize, size: usize| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        header.p_type == libc::PT_LOAD
            && address >= start
            && (address - start).checked_add(size).is_some_and(|end| end <= header.p_memsz as usize)
    };
    if !headers.iter().any(|header| within(header, search.address, 1)) {
        return 0;
    }
    search.found = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).find_map(|header| {
        let (at, size) = (base.wrapping_add(header.p_vaddr as usize), header.p_memsz as usize);
        if !headers.iter().any(|loaded| within(loaded, at, size)) {
            return None;
        }
        // SAFETY: inside a segment of the loaded object, as was just checked.
        gnu_build_id(unsafe { std::slice::from_raw_parts(at as *const u8, size) })
    });
    1
}

/// From the content of a note segment (System V gABI, "Note Section"): words of 4 bytes, name and descriptor padded to 4.
fn gnu_build_id(mut notes: &[u8]) -> Option<String> {
    const NT_GNU_BUILD_ID: usize = 3;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?) as usize);
        let (name_size, size, kind) = (word(0)?, word(4)?, word(8)?);
        let start = 12usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let end = start.checked_add(size)?;
        let (name, id) = (notes.get(12..12usize.checked_add(name_size)?)?, notes.get(start..end)?);
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" && size <= 64 {
            return Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::gnu_build_id;

    #[test]
    fn finds_the_build_id_among_notes() {
        let note = |name: &[u8], kind: u32, content: &[u8]| {
            let mut note = Vec::new();
            for word in [name.len() as u32, content.len() as u32, kind] {
                note.extend(word.to_ne_bytes());
            }
            for part in [name, content] {
                note.extend(part);
                note.resize(note.len().next_multiple_of(4), 0);
            }
            note
        };
        let all =
            [note(b"stapsdt\0", 3, b"xyz"), note(b"GNU\0", 1, &[9; 5]), note(b"GNU\0", 3, &[0xab, 0, 1])].concat();
        assert_eq!(gnu_build_id(&all).as_deref(), Some("ab0001"));
        for end in 0..all.len() - 1 {
            assert_eq!(gnu_build_id(&all[..end]), None);
        }
        assert_eq!(gnu_build_id(&[0xff; 64]), None);
    }
}
