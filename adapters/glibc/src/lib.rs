//! For the build scripts of the libraries that we ship: these must load with every glibc since 2.17, whichever glibc
//! the build machine has. A single preloaded library that requires a newer one keeps every program on an older machine
//! from starting.
//!
//! A reference takes the version that the symbol has in the libc.so.6 that the library was linked against. The
//! libraries are therefore linked against a stand-in, which has the symbols of the real one whose version is old enough
//! (`stand_in`). A symbol that the stand-in lacks stays a reference without a version. If it is weak, it is bound where
//! a libc has it, and null elsewhere, as Rust's std expects of `statx` and similar functions. Everything else that is
//! needed is in `shim.c`.

mod link;
mod stand_in;

pub use link::{cdylib, resident_cdylib};

/// The newest version that a library may need. It is also the first version on AArch64.
pub const NEWEST: (u32, u32) = (2, 17);
