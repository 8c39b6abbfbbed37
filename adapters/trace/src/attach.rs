//! Attaching to the program and its TLS libraries: as soon as this library is loaded, if anything is to be recorded.

use std::ffi::{c_char, c_int, c_void};

use windlass_interpose::sibling::{Onward, Sibling};
use windlass_interpose::way_in::{self, WayIn};
use windlass_interpose::{address_space, hook, linker, resolver, unwinding};

use crate::clock::Overhead;
use crate::gnutls::LIBGNUTLS_HOOKS;
use crate::gnutls::copies::LIBGNUTLS;
use crate::json::Line;
use crate::openssl::copies::{LIBCRYPTO, LIBSSL};
use crate::openssl::{LIBCRYPTO_HOOKS, LIBSSL_HOOKS};
use crate::script::{PYTHON, RUBY};
use crate::{clock, find_object, gathered, memory, process, settings, sink};

resolver!(windlass_trace_resolver);

/// The hooks of this library.
static WAY_IN: WayIn = WayIn::new(
    &[&LIBCRYPTO, &LIBSSL, &LIBGNUTLS, &PYTHON, &RUBY],
    &[LIBCRYPTO_HOOKS, LIBSSL_HOOKS, LIBGNUTLS_HOOKS],
    &[],
    c"windlass_trace_resolver",
    Sibling::behind(c"windlass_preload_bound_to"),
    || (),
    || (),
);

static ONWARD: [Onward; 3] = [const { Onward::new() }; 3];

/// Runs when the library is loaded: before all other constructors if the program starts with it (`-z initfirst`). The C
/// library has not read the environment by then; glibc passes it as an argument (elf/dl-init.c). A process that loads
/// no trust anchors is recorded, too.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

extern "C" fn begin(_count: c_int, _arguments: *const *const c_char, environment: *const *const c_char) {
    if !settings::decide(environment) {
        return;
    }
    hook::shielded(|| {
        address_space::prepare();
        linker::watch_forks();
        for (family, onward) in WAY_IN.families.iter().zip(&ONWARD) {
            family.stand_in_front(onward);
        }
        WAY_IN.attach(true);
        record();
        Some(())
    });
}

/// Runs at `exit`.
#[used]
#[unsafe(link_section = ".fini_array")]
static ENDING: extern "C" fn() = end;

/// Attaches and begins to record.
fn record() {
    unwinding::prepare();
    let overhead = Overhead::begin();
    find_object::prepare();
    memory::find();
    process::current();
    drop(overhead);
}

/// Records that the process ends by `exit`.
extern "C" fn end() {
    // A forked child without recorded events does not record its end either.
    if settings::enabled()
        && let Some(process) = process::begun()
    {
        hook::shielded(|| {
            gathered::flush_all();
            let mut line = Line::of("exit", &process.id);
            line.number("t", clock::now()).number("cpu", process.cpu());
            line.known("max_rss", max_rss());
            sink::append(&process.id, &line.finish());
            Some(())
        });
    }
}

fn max_rss() -> Option<i64> {
    // SAFETY: rusage is plain data that getrusage fills.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: room for the answer.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    // Linux returns KiB (getrusage(2)).
    (status == 0).then(|| usage.ru_maxrss.saturating_mul(1024))
}

/// For the preload library, which stands behind this one and may find a trampoline in an import slot: the variable
/// through which the trampoline's calls go on, or null.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_trace_next(trampoline: *const c_void) -> *const c_void {
    way_in::next_of(trampoline)
}
