//! The rules of the dynamic linker, and the library that is to be loaded.

pub mod elf;
pub mod linkage;
pub mod preload_library;
pub mod reach;
