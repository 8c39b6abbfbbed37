//! For the build scripts of the libraries that we ship: they are to load with every glibc since 2.17, whatever glibc is
//! on the machine that builds them. One preloaded library that asks for more keeps every program of an older machine
//! from starting.
//!
//! A reference takes the version that the symbol has in the libc.so.6 that was linked against. So a stand-in is linked
//! against: it has those symbols of the real one whose version is old enough (`stand_in`). What is not in it stays a
//! reference without a version. If that is weak, it is bound where a libc has it, and null elsewhere, which is what
//! Rust's std expects of `statx` and its kind. What is needed more than that is in `shim.c`.

mod link;
mod stand_in;

pub use link::{cdylib, resident_cdylib};

/// The newest version that a library may need. It is also the first that AArch64 has.
pub const NEWEST: (u32, u32) = (2, 17);
