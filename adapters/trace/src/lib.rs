//! `libwindlass_trace.so`: put in front of a program with `LD_PRELOAD` by `windlass trace`, it records which calls of
//! OpenSSL and GnuTLS load trust anchors, and what they cost. It serves nothing: each hooked function runs as without
//! it.
//!
//! What is written is described in docs/trace-events.md.
//!
//! | module | concern |
//! | --- | --- |
//! | `settings`, `sink`, `json` | whether anything is recorded, and how a line gets into the file |
//! | `process`, `modules`, `segments` | what is said once for each process and each loaded object |
//! | `clock`, `memory` | what is measured |
//! | `span` | one load, and the loads inside it |
//! | `gathered`, `stores` | certificates that a program adds by itself, and when a store ends |
//! | `handshake`, `verification` | connections and verifications |
//! | `stack`, `script` | who called |
//! | `attach`, `find_object` | how this library comes in front; which object an address lies in |
//! | `openssl`, `gnutls` | the hooks; each `mod.rs` has the list |

#[macro_use]
extern crate windlass_interpose;

/// Calls the function that a call of a hooked one would have reached without us. The arguments have the types that the
/// handler was given them with.
macro_rules! original {
    ($family:ident, $caller:expr, $name:ident($($argument:expr),* $(,)?), or $failure:expr) => {
        match $family.original($caller, const { windlass_interpose::definitions::Name::new(name!($name)) }) {
            Some(address) => {
                // Whatever it calls may unwind through the hook.
                windlass_interpose::unwinding::prepare();
                // SAFETY: the library's function of this name, with the types that the table of hooks has of it, and
                // the arguments that the program passed for this very function.
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

/// What can't be asked for in a way that may fail comes from a reserve when there is no memory: the host must not be
/// aborted.
#[global_allocator]
static ALLOCATOR: windlass_interpose::reserve::Reserving = windlass_interpose::reserve::Reserving;
