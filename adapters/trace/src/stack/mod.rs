//! The native frames of this thread.
//!
//! They are found without the compiler's unwinder: that reads what it finds on the stack as addresses, unasked. A program that changes
//! from one C stack to another (coroutines, greenlets) can have anything beyond the frames of its own.
//!
//! | module | concern |
//! | --- | --- |
//! | `registers`, `memory` | where the walk begins, and what it may read |
//! | `tables` | which entry of `.eh_frame` describes an address |
//! | `rules`, `expression` | what the entry says: where the caller's registers are |
//! | `walk` | from frame to frame |

mod expression;
mod memory;
mod registers;
mod rules;
mod tables;
mod walk;

use std::fmt::Write;

use windlass_interpose::object::{self, Object};

use crate::process;

const MOST: usize = 128;

/// The callers of a hooked function, innermost first, as JSON. They end with the first one in `last`, an interpreter: what is beyond is its
/// own, or not even of this stack.
#[inline(never)]
pub fn native(last: Option<Object>) -> String {
    let process = process::current();
    let mut list = String::with_capacity(512);
    list.push('[');
    let mut count = 0;
    walk::from(registers::here(), |address| {
        if object::is_ours(address) {
            return true;
        }
        if let Some((module, offset)) = process.modules.locate(process, address) {
            // Writing into a String can't fail.
            let _ = write!(list, "{}[{module},{offset}]", if list.len() > 1 { "," } else { "" });
        }
        count += 1;
        count < MOST && !last.is_some_and(|last| last.contains(address))
    });
    list.push(']');
    list
}
