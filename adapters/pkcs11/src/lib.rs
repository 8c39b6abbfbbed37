//! `libwindlass_pkcs11.so`: a PKCS#11 module whose tokens hold the trust of this machine, for programs that take their
//! trust from PKCS#11 (GnuTLS, NSS, p11-kit's `trust`, Java). It replaces p11-kit-trust: the same objects, read-only.
//!
//! Each chapter of the specification has a file with its functions: `general`, `slot`, `session`, `object`; unsupported
//! functions are in `absent`. Each function is a C function of two lines around one that can fail; `call` is the
//! border. Loading the library sets up little (`process`), and nothing is read before somebody searches for objects.

mod absent;
mod call;
mod general;
mod interface;
mod module;
mod object;
mod places;
mod process;
mod search;
mod session;
mod slot;
mod snapshot;
mod value;
mod vendor;
mod view;

/// When memory is short, allocations that cannot report failure come from a reserve: the host must not be aborted.
#[global_allocator]
static ALLOCATOR: windlass_interpose::reserve::Reserving = windlass_interpose::reserve::Reserving;
