//! What the dynamic linker can load into what, and the library that is to be loaded.

pub mod elf;
pub mod library;
pub mod linkage;
pub mod reach;
