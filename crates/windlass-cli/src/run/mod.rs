//! Starting a program with the preload library in front.

pub mod add_ca;
pub mod counters;
pub mod environment;
pub mod parent;
pub mod program;
pub mod signals;
pub mod start;
