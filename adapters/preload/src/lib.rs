//! `libwindlass_preload.so`: put in front of a program with `LD_PRELOAD`, it serves the program's OpenSSL and
//! GnuTLS from shared, immutable root stores instead of letting every context parse the whole CA bundle again.
//!
//! When the library is loaded it writes the import slots of the other objects (`attach`), and asks the kernel what a
//! hooked call may not ask (`process::prepare`). The first hooked call of a process sets up the rest; every hook falls
//! back to the function that it stands in front of, so a program never sees more than a difference in cost.

#[macro_use]
extern crate windlass_interpose;

use windlass_interpose::{address_space, append_list, fork_lock, ptr_table};

use windlass_interpose::large_blocks::{LargeBlocks, Room};
use windlass_interpose::reserve::Reserving;

static ROOM: Room = Room::new();

/// Large blocks without a system call. What can't be asked for in a way that may fail comes from a reserve when there
/// is no memory: the host must not be aborted.
#[global_allocator]
static ALLOCATOR: LargeBlocks<Reserving> = LargeBlocks::new(&ROOM, Reserving);

mod add_ca;
mod arranged;
mod attach;
mod for_each_process;
mod gnutls;
mod hook;
mod labels;
mod memory;
mod openssl;
mod process;
mod tables;
