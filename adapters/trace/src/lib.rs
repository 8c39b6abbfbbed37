//! `libwindlass_trace.so`: loaded by `windlass trace` with `LD_PRELOAD`, it records the calls of OpenSSL and GnuTLS
//! that load trust anchors, and their cost. It serves nothing: each hooked function runs as without it.
//!
//! docs/trace-events.md describes the events.
//!
//! | module | concern |
//! | --- | --- |
//! | `settings`, `sink`, `json` | whether anything is recorded, and writing lines to the file |
//! | `process`, `modules`, `segments` | events written once for each process and each loaded object |
//! | `clock`, `memory` | measurements |
//! | `span` | one load, and the loads inside it |
//! | `gathered`, `stores` | certificates that a program adds itself, and the end of a store |
//! | `handshake`, `verification` | connections and verifications |
//! | `stack`, `script` | the stack of the caller |
//! | `attach`, `find_object` | attaching this library; the object that contains an address |
//! | `openssl`, `gnutls` | the hooks; each `mod.rs` has the list |

#[macro_use]
extern crate windlass_interpose;

/// Calls the function that a call of a hooked one would have reached without us. The arguments have the types that the
/// handler got them with.
macro_rules! original {
    ($family:ident, $caller:expr, $name:ident($($argument:expr),* $(,)?), or $failure:expr) => {
        match $family.original($caller, const { windlass_interpose::definitions::Name::new(name!($name)) }) {
            Some(address) => {
                // Any function called from there may unwind through the hook.
                windlass_interpose::unwinding::prepare();
                // SAFETY: the library's function of this name, with the types from the table of hooks, and the
                // arguments that the program passed for this very function.
                unsafe {
                    std::mem::transmute::<usize, unsafe extern "C-unwind" fn($(original!(@any $argument)),*) -> _>(
                        address,
                    )($($argument),*)
                }
            }
            None => $failure,
        }
    };
    (@any $argument:expr) => { _ };
}

mod attach;
mod clock;
mod find_object;
mod gathered;
mod gnutls;
mod handshake;
mod json;
mod memory;
mod modules;
mod openssl;
mod process;
mod script;
mod segments;
mod settings;
mod sink;
mod source;
mod span;
mod stack;
mod stores;
mod verification;

/// When memory is short, allocations that cannot report failure come from a reserve: the host must not be aborted.
#[global_allocator]
static ALLOCATOR: windlass_interpose::reserve::Reserving = windlass_interpose::reserve::Reserving;
