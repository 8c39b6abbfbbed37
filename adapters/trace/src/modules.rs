//! The loaded objects that stacks refer to, each described once.

use std::os::unix::ffi::OsStringExt;

use gimli::Reader as _;
use windlass_interpose::append_list::AppendList;
use windlass_interpose::fork_lock::ForkLock;

use crate::find_object::Object;
use crate::json::{self, Id, Line};
use crate::segments::Segments;
use crate::sink;
use crate::stack::Memory;

/// The objects that were met in one process.
pub struct Modules {
    known: AppendList<Module>,
    meeting: ForkLock,
}

/// Identified by its file, too: an object loaded after another was unloaded can have all its addresses.
#[derive(PartialEq)]
struct Module {
    dynamic: usize,
    base: usize,
    /// Its path; empty for the executable.
    name: Vec<u8>,
    /// Its GNU build id.
    build_id: Option<Vec<u8>>,
}

impl Modules {
    /// Without any module yet.
    pub const fn new() -> Modules {
        Modules { known: AppendList::new(), meeting: ForkLock::new() }
    }

    /// The module number of a loaded object, and the difference between the addresses in memory and those in its file.
    /// A new module is described in an event of its own before this returns.
    pub fn locate(&self, process: &Id, object: &Object) -> Option<(usize, usize)> {
        let module = Module::of(object);
        let base = module.base;
        let number = self.number(&module).or_else(|| {
            let path = module.path();
            let _guard = self.meeting.lock();
            self.number(&module).or_else(|| {
                let number = self.known.len();
                let mut line = Line::of("module", process);
                line.number("id", number as i64).path("path", &path);
                match &module.build_id {
                    Some(id) => line.text("build_id", hexadecimal(id).as_bytes()),
                    None => line.raw("build_id", "null"),
                };
                // A module whose event was not written can't be referred to.
                if !sink::put(&line.finish()) {
                    return None;
                }
                self.known.push(module);
                Some(number)
            })
        })?;
        Some((number, base))
    }

    fn number(&self, module: &Module) -> Option<usize> {
        self.known.iter().position(|known| known == module)
    }
}

impl Module {
    fn of(object: &Object) -> Module {
        // SAFETY: code of the object is on this thread's stack, so it stays loaded, and its path lives as long.
        let name = unsafe { json::copied(object.path) }.unwrap_or_default();
        Module { dynamic: object.dynamic, base: object.base, name, build_id: build_id(object) }
    }

    fn path(&self) -> Vec<u8> {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        std::fs::read_link("/proc/self/exe").map(|path| path.into_os_string().into_vec()).unwrap_or_default()
    }
}

/// The GNU build id of an object.
fn build_id(object: &Object) -> Option<Vec<u8>> {
    const LONGEST: usize = 4096;
    let memory = Memory::new();
    // SAFETY: code of the object is on this thread's stack, so it stays loaded.
    let segments = unsafe { Segments::of(object, &memory)? };
    segments.of_kind(libc::PT_NOTE).find_map(|mut note| {
        let bytes: Vec<u8> = std::iter::from_fn(|| note.read_u8().ok()).take(LONGEST).collect();
        gnu_build_id(&bytes).map(<[u8]>::to_vec)
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the build id from the content of a note segment (System V gABI, "Note Section"): words of 4 bytes, name and
/// descriptor padded to 4.
fn gnu_build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: usize = 3;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?) as usize);
        let (name_size, size, kind) = (word(0)?, word(4)?, word(8)?);
        let start = 12usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let end = start.checked_add(size)?;
        let (name, id) = (notes.get(12..12usize.checked_add(name_size)?)?, notes.get(start..end)?);
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" && size <= 64 {
            return Some(id);
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{gnu_build_id, hexadecimal};

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
        assert_eq!(gnu_build_id(&all).map(hexadecimal).as_deref(), Some("ab0001"));
        for end in 0..all.len() - 1 {
            assert_eq!(gnu_build_id(&all[..end]), None);
        }
        assert_eq!(gnu_build_id(&[0xff; 64]), None);
    }
}
