//! What the model of a store is shared between threads by. Its test (tests/model.rs) has the same names from a checker that tries
//! every interleaving.

pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

pub use crate::append_list::{AppendList, Prepared};
pub use crate::fork_lock::{ForkGuard as Guard, ForkLock as Lock};
