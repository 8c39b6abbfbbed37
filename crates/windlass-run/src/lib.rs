//! Starts a program with the preload library. It gets the signals, streams and variables that this process was started
//! with (`inherited.rs`), and its caller sees the same end as without a process in between (`parent.rs`). With
//! `--add-ca`, the program and its children trust certificates that nobody else trusts (`add_ca/`).

#![deny(unsafe_code)]

pub mod add_ca;
pub mod counters;
pub mod environment;
pub mod inherited;
pub mod parent;
pub mod program;
mod signals;
pub mod start;
