//! Starting a program with the preload library in front.

pub mod add_ca;
pub mod counters;
pub mod elf;
pub mod environment;
pub mod library;
pub mod linkage;
pub mod parent;
pub mod program;
pub mod reach;
pub mod signals;
pub mod start;
