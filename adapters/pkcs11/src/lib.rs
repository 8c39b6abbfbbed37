//! `libwindlass_pkcs11.so`: a PKCS#11 module whose tokens hold what this machine trusts, for programs that take their
//! trust from PKCS#11 (GnuTLS, NSS, p11-kit's `trust`, Java). It stands where p11-kit-trust stands: the same objects,
//! read-only.
//!
//! One file for each chapter of the specification has the functions: `general`, `slot`, `session`, `object`; what the
//! token can't do is in `absent`. Each is one C function of two lines around one that can fail; `call` is the border.
//! Loading the library sets up little (`process`), and nothing is read before somebody searches for objects.

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

/// What can't be asked for in a way that may fail comes from a reserve when there is no memory: the host must not be
/// aborted.
#[global_allocator]
static ALLOCATOR: windlass_interpose::reserve::Reserving = windlass_interpose::reserve::Reserving;
