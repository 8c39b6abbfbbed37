//! Starting a program with the preload library in front.

#![deny(unsafe_code)]

pub mod add_ca;
pub mod counters;
pub mod environment;
pub mod inherited;
pub mod parent;
pub mod program;
mod signals;
pub mod start;
