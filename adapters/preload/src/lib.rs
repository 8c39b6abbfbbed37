//! `libwindlass_preload.so`: put in front of a program with `LD_PRELOAD`, it serves the program's OpenSSL and
//! GnuTLS from shared, immutable root stores instead of letting every context parse the whole CA bundle again.
//!
//! Nothing runs when the library is loaded. The first hooked call of a process sets up what is needed; every hook
//! falls back to the function that it stands in front of, so a program never sees more than a difference in cost.

#[macro_use]
extern crate windlass_interpose;

use windlass_interpose::{address_space, append_list, callers, definitions, fork_lock, image, object, ptr_table};

mod added;
mod arranged;
mod gnutls;
mod hook;
mod labels;
mod openssl;
mod process;
