//! `libwindlass.so`: the C library. `include/windlass.h` documents its functions.
//!
//! Two parts that do not need each other: `attach` loads the preload library into a running program, and `trust`,
//! `store` and `lookup` give the core's root stores to TLS libraries that Windlass does not hook. Each function is a C
//! function of a few lines around one that can fail; `border` is what stands between them.

mod attach;
mod border;
mod error;
mod lookup;
mod objects;
mod preload;
mod store;
mod trust;

/// When memory is short, allocations that cannot report failure come from a reserve: the host must not be aborted.
#[global_allocator]
static ALLOCATOR: windlass_interpose::reserve::Reserving = windlass_interpose::reserve::Reserving;
