//! The native frames of this thread.
//!
//! They are found without the compiler's unwinder, which uses anything on the stack as an address, unchecked. A program
//! that switches between C stacks (coroutines, greenlets) can have anything beyond the frames of its current one.
//!
//! | module | concern |
//! | --- | --- |
//! | `registers`, `memory` | the start of the walk, and the memory that it may read |
//! | `reader`, `tables`, `expression` | gimli's input; the `.eh_frame` entry of an address; its expressions |
//! | `walk` | from frame to frame |

mod expression;
mod memory;
mod reader;
mod registers;
mod tables;
#[cfg(test)]
mod tests;
mod walk;

pub use memory::Memory;
pub use reader::Reader;

use std::fmt::Write;

use windlass_interpose::linker;

use crate::find_object::Object;
use crate::process;

const MOST: usize = 128;

/// The number of a module, and the difference between the addresses in memory and those in its file.
type Located = Option<(usize, usize)>;

/// The callers of a hooked function, innermost first, as JSON. They end with the first one in `last`, an interpreter:
/// the frames beyond it are its own, or not even on this stack.
#[inline(never)]
pub fn native(last: Option<Object>) -> String {
    let process = process::current();
    let mut list = String::with_capacity(512);
    list.push('[');
    let mut count = 0;
    let mut met: Vec<(Object, Located)> = Vec::new();
    walk::from(registers::here(), |address, object| {
        if linker::own_range().contains(&address) {
            return true;
        }
        let located = met.iter().find(|(known, _)| known.is(object)).map(|(_, located)| *located);
        let located = located.unwrap_or_else(|| {
            let located = process.modules.locate(&process.id, object);
            met.push((*object, located));
            located
        });
        if let Some((module, base)) = located {
            // Writing into a String can't fail.
            let _ = write!(list, "{}[{module},{}]", if list.len() > 1 { "," } else { "" }, address.wrapping_sub(base));
        }
        count += 1;
        count < MOST && !last.is_some_and(|last| last.contains(address))
    });
    list.push(']');
    list
}
