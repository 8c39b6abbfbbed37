//! How a function is stood in front of: `windlass-interpose`, as long as the library is switched on.

pub use windlass_interpose::family::Caller;
pub use windlass_interpose::hook::*;

use crate::process;

/// Runs a handler's own part. It does not run, and `None` comes back, when the library is switched off, when this
/// thread is already inside a hook (then a foreign library is calling itself through its PLT on our behalf), or when the part
/// panics: the caller then goes on with the original function.
pub fn guarded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    if process::enabled() { windlass_interpose::hook::guarded(part) } else { None }
}
