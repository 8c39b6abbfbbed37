//! `libwindlass_preload.so`: loaded with `LD_PRELOAD`, it serves the program's OpenSSL and GnuTLS from shared,
//! immutable root stores, so that a context no longer parses the whole CA bundle for itself.
//!
//! When the library is loaded, it writes the import slots of the other objects (`attach`) and makes the system calls
//! that a hooked call must not make (`process::prepare`). The first hooked call of a process sets up the rest. Every
//! hook falls back to the function it replaces, so a program sees a difference in cost and nothing else.

#[macro_use]
extern crate windlass_interpose;

use windlass_interpose::{address_space, append_list, for_each_process, fork_lock, ptr_table};

use windlass_interpose::large_blocks::{LargeBlocks, Room};
use windlass_interpose::reserve::Reserving;

static ROOM: Room = Room::new();

/// Allocates large blocks without a system call. When memory is short, allocations that cannot report failure come from
/// a reserve: the host must not be aborted.
#[global_allocator]
static ALLOCATOR: LargeBlocks<Reserving> = LargeBlocks::new(&ROOM, Reserving);

mod add_ca;
mod arranged;
mod attach;
mod gnutls;
mod hook;
mod labels;
mod memory;
mod openssl;
mod process;
mod status;
mod tables;
