//! The common part of preloaded libraries that hook functions of a foreign library, of which a process may hold several
//! copies.
//!
//! | module | concern |
//! | --- | --- |
//! | `way_in`, `imports` | the import slots of all objects, and those that matter |
//! | `slots`, `bound`, `scope` | the targets of slots, and writing slots |
//! | `kernel` | system calls before the C library is ready |
//! | `wanted`, `elf`, `definitions`, `linker` | names, loaded objects, the dynamic linker and its lock |
//! | `family`, `copy` | kinds of libraries, their copies, and a trampoline for each function of each copy |
//! | `dlsym`, `taken` | functions that a program finds by name, and may have found before |
//! | `sibling` | another of our libraries in the same process |
//! | `hook` | one guard for all handlers, and calling an original |
//! | `unwinding` | cancelled threads and exceptions that pass through hooked functions |
//! | `foreign` | tables of a foreign library's functions |
//! | `address_space`, `fork_lock`, `ptr_table`, `append_list` | state that a fork can't leave locked |
//! | `for_each_process` | state that a fork makes anew |
//! | `fork_gate`, `futex` | no fork while a lock of the linker is held; waiting |
//! | `reserve` | the allocator, and its reserve for when memory is short |

// These types are created in statics, where `Default` can't be called.
#![allow(clippy::new_without_default)]

#[macro_use]
pub mod foreign;
#[macro_use]
pub mod hook;
pub mod address_space;
pub mod append_list;
pub mod bound;
pub mod copy;
pub mod definitions;
pub mod dlsym;
pub mod elf;
#[macro_use]
pub mod family;
pub mod for_each_process;
pub mod fork_gate;
pub mod fork_lock;
mod futex;
mod imports;
pub mod kernel;
pub mod large_blocks;
#[macro_use]
pub mod linker;
pub mod ptr_table;
pub mod reserve;
pub mod scope;
pub mod sibling;
pub mod slots;
mod taken;
pub mod unwinding;
pub mod wanted;
pub mod way_in;
