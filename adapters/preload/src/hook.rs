//! How a function is hooked: through `windlass-interpose`, unless the library is switched off.

pub use windlass_interpose::family::Caller;
pub use windlass_interpose::hook::*;

use crate::openssl::sync;
use crate::process;

/// Call this first in each hook. The program may make the call in the middle of another call of its own, directly or
/// through libssl: from a certificate's ex_data constructor, or from a URI loader. This counts as a call from outside,
/// unless this thread holds the lock of a store. The program may also have left the outer call by `longjmp`.
pub fn enter(caller: Caller) -> Option<Inside> {
    let is_nested = is_inside() && !caller.is_own() && !sync::is_locking();
    is_nested.then(outside)
}

/// Runs the body of a handler. Returns `None` if the library is switched off or if this thread is already inside a
/// hook, in which cases the body does not run (in the second, a foreign library is calling itself through its PLT on
/// our behalf), or if the body panics. The caller then goes on with the original function.
pub fn guarded<R>(part: impl FnOnce() -> Option<R>) -> Option<R> {
    if process::enabled() { windlass_interpose::hook::guarded(part) } else { None }
}
