//! What any preloaded library needs to stand in front of functions of a foreign library, of which a process may hold several copies.
//!
//! | module | concern |
//! | --- | --- |
//! | `hook` | how a function is stood in front of: one macro, one guard |
//! | `unwinding` | cancelled threads and exceptions that pass through hooked functions |
//! | `foreign` | tables of a foreign library's functions |
//! | `object`, `image`, `definitions`, `callers` | which loaded object calls, how it would have resolved a name, and whose library it means |
//! | `address_space`, `fork_lock`, `ptr_table`, `append_list` | state that a fork can't leave locked |
//! | `reserve` | the allocator, and what it has when there is no memory |

// What is made here lies in statics, where `Default` can't be called.
#![allow(clippy::new_without_default)]

#[macro_use]
pub mod foreign;
#[macro_use]
pub mod hook;
pub mod address_space;
pub mod append_list;
pub mod bound;
pub mod callers;
pub mod definitions;
pub mod dlsym;
pub mod elf;
#[macro_use]
pub mod family;
pub mod fork_lock;
pub mod image;
pub mod large_blocks;
#[macro_use]
pub mod linker;
pub mod object;
pub mod ptr_table;
pub mod reserve;
pub mod slots;
pub mod unwinding;
pub mod wanted;
pub mod way_in;
