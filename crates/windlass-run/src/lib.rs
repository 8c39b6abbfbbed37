//! Starts a program with the preload library in front. It gets the signals, streams and variables that this process was
//! started with (`inherited.rs`), and ends as if nobody stood between it and its caller (`parent.rs`). With `--add-ca`
//! it and its children trust certificates that nobody else trusts (`add_ca/`).

#![deny(unsafe_code)]

pub mod add_ca;
pub mod counters;
pub mod environment;
pub mod inherited;
pub mod parent;
pub mod program;
mod signals;
pub mod start;
