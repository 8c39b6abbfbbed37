//! `libwindlass_trace.so`: put in front of a program with `LD_PRELOAD` by `windlass trace`, it records which calls of OpenSSL and GnuTLS
//! load trust anchors, and what they cost. It serves nothing: each hooked function runs as without it.
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
//! | `registry`, `interposers`, `loaded` | which copy of a foreign library a caller means, what stands before it; both without the linker's lock |
//! | `openssl`, `gnutls` | the hooks; each `mod.rs` has the list |

#[macro_use]
extern crate windlass_interpose;

/// [`hook!`], and the names of what is hooked.
macro_rules! hooks {
    ($($count:tt $name:ident => $handler:path;)*) => {
        hook! { $($count $name => $handler;)* }

        /// The names of the hooked functions.
        pub const HOOKED: &[windlass_interpose::definitions::Name<'static>] = &[$(
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => windlass_interpose::definitions::Name::new(name),
                Err(_) => panic!("a function name holds no NUL"),
            }
        ),*];
    };
}

mod clock;
mod gathered;
mod gnutls;
mod handshake;
mod interposers;
mod json;
mod loaded;
mod memory;
mod modules;
mod openssl;
mod process;
mod registry;
mod script;
mod segments;
mod settings;
mod sink;
mod span;
mod stack;
mod stores;
mod verification;

/// What can't be asked for in a way that may fail comes from a reserve when there is no memory: the host must not be aborted.
#[global_allocator]
static ALLOCATOR: windlass_interpose::reserve::Reserving = windlass_interpose::reserve::Reserving;

/// Runs when the library has been loaded: a process that loads no trust anchors is to be known of, too.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = process::begin;

/// Runs at `exit`.
#[used]
#[unsafe(link_section = ".fini_array")]
static ENDING: extern "C" fn() = process::end;
