//! `libwindlass_trace.so`: put in front of a program with `LD_PRELOAD` by `windlass trace`, it records which calls of OpenSSL and GnuTLS
//! load trust anchors, and what they cost. It serves nothing: each hooked function runs as without it.
//!
//! What is written is described in docs/trace-events.md.
//!
//! | module | concern |
//! | --- | --- |
//! | `settings`, `sink`, `json` | whether anything is recorded, and how a line gets into the file |
//! | `process`, `modules` | what is said once for each process and each loaded object |
//! | `clock`, `memory` | what is measured |
//! | `span` | one load, and the loads inside it |
//! | `gathered`, `stores` | certificates that a program adds by itself, and when a store ends |
//! | `handshake`, `verification` | connections and verifications |
//! | `stack`, `script` | who called |
//! | `registry` | which copy of a foreign library a caller means |
//! | `openssl`, `gnutls` | the hooks; each `mod.rs` has the list |

// The unwinder is linked in, as in the preload library: a program gets no further library loaded.
#[cfg(target_env = "gnu")]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}

#[macro_use]
extern crate windlass_interpose;

mod clock;
mod gathered;
mod gnutls;
mod handshake;
mod json;
mod memory;
mod modules;
mod openssl;
mod process;
mod registry;
mod script;
mod settings;
mod sink;
mod span;
mod stack;
mod stores;
mod verification;

/// Runs when the library has been loaded: a process that loads no trust anchors is to be known of, too.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = process::begin;

/// Runs at `exit`.
#[used]
#[unsafe(link_section = ".fini_array")]
static ENDING: extern "C" fn() = process::end;
