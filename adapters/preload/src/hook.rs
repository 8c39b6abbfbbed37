//! How a function is stood in front of: `windlass-interpose`, as long as the library is switched on.

pub use windlass_interpose::family::Caller;
pub use windlass_interpose::hook::*;

use crate::openssl::sync;
use crate::process;

/// To be called first in each hook. The program may call in the middle of another call of its own, itself or by
/// libssl: from a certificate's constructor of ex_data, or from the loader of a URI. That is as if it came from
/// outside, unless this thread has the lock of a store. It may also have left that call by `longjmp`.
pub fn enter(caller: Caller) -> Option<Inside> {
    let is_nested = is_inside() && !caller.is_own() && !sync::is_locking();
    is_nested.then(outside)
}

/// Runs a handler's own part. It does not run, and `None` comes back, when the library is switched off, when this
/// thread is already inside a hook (then a foreign library is calling itself through its PLT on our behalf), or when
/// the part panics: the caller then goes on with the original function.
pub fn guarded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    if process::enabled() { windlass_interpose::hook::guarded(part) } else { None }
}
