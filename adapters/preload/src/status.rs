//! What a process can ask about this library: is it attached, which TLS libraries does it see, what has it served.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use windlass_interpose::elf::Loaded;
use windlass_interpose::family::{Copy, Family};
use windlass_interpose::linker;

use crate::attach;
use crate::gnutls::libgnutls::LIBGNUTLS;
use crate::hook::KeptErrno;
use crate::labels::LABELS;
use crate::openssl::libcrypto::{LIBCRYPTO, LIBSSL};
use crate::process::{self, State};

/// Whether calls are seen in this process, or why not: the index of one of [`STATES`]. It only reads memory.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_preload_state() -> c_int {
    match process::state() {
        State::Enabled => c_int::from(attach::is_attached()),
        State::Disabled => 2,
        State::Secure => 3,
        State::Audited => 4,
    }
}

/// The states. `disabled`: by `WINDLASS_DISABLE`. `audited`: by `LD_AUDIT`, whose auditors decide where calls lead.
const STATES: [&str; 5] = ["detached", "attached", "disabled", "secure-execution", "audited"];

/// Writes the status of this library in this process as text, at most `room` bytes with the NUL at the end. Returns the
/// length of the whole text without the NUL, as `snprintf` does; if that is `room` or more, the text is cut off.
/// `text` may be null if `room` is 0.
///
/// One fact a line, its fields separated by a space; later versions may add others:
///
/// ```text
/// version 0.1.0
/// state detached | attached | disabled | secure-execution | audited
/// library libcrypto | libssl | libgnutls  seen | hidden | before  PATH
/// addresses PATH
/// counter NAME VALUE
/// ```
///
/// In a child that was forked while other threads ran, no libraries are listed: the list may stay locked there.
/// `hidden`: the calls of some object can't be seen, so this kind of library is not served. `before`: this library was
/// there when ours was attached, and each object of a line `addresses` (no path: the program) may have taken addresses
/// of its functions before, so it is not served ([`windlass_preload_excuse`](attach::windlass_preload_excuse)). In a
/// path, a backslash and control characters are written as `\ooo`. Counters are those of `windlass run --stats`
/// (docs/counters.md), without those that are 0. With `WINDLASS_STATS` they include what other processes have counted
/// in the same page.
///
/// May be called by any thread, but not from a signal handler.
///
/// # Safety
/// `text` has room for that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_preload_status(text: *mut c_char, room: usize) -> usize {
    let _errno = KeptErrno::new();
    let mut out = Text { to: text.cast(), room: if text.is_null() { 0 } else { room }, len: 0 };
    // Writing to `Text` never fails.
    let _ = catch_unwind(AssertUnwindSafe(|| tell(&mut out)));
    if let Some(last) = out.room.checked_sub(1) {
        // SAFETY: within the caller's room.
        unsafe { out.to.add(out.len.min(last)).write(0) };
    }
    out.len
}

fn tell(out: &mut Text) -> fmt::Result {
    writeln!(out, "version {}", env!("CARGO_PKG_VERSION"))?;
    let state = STATES.get(windlass_preload_state() as usize).copied().unwrap_or_default();
    writeln!(out, "state {state}")?;
    if process::enabled() && !linker::is_out_of_reach() {
        linker::each_object(0, |object| {
            for (name, family) in FAMILIES.into_iter().filter(|(_, family)| family.is_one(object)) {
                let is_it = |copy: &Copy| copy.object().is_some_and(|known| known.dynamic == object.dynamic);
                let how = match () {
                    () if family.is_hidden() => "hidden",
                    () if family.copies().any(|(_, copy)| is_it(copy) && copy.is_from_before()) => "before",
                    () => "seen",
                };
                let _ = write!(out, "library {name} {how} ").and_then(|()| write_path(out, object));
            }
            true
        });
        attach::each_taker(|object| {
            let _ = write!(out, "addresses ").and_then(|()| match object {
                Some(object) => write_path(out, object),
                None => writeln!(out, "{UNLOADED}"),
            });
        });
    }
    let counters = LABELS.iter().enumerate().map(|(slot, label)| (label, process::counter(slot)));
    for (label, value) in counters.filter(|(_, value)| *value != 0) {
        writeln!(out, "counter {label} {value}")?;
    }
    Ok(())
}

static FAMILIES: [(&str, &Family); 3] = [("libcrypto", &LIBCRYPTO), ("libssl", &LIBSSL), ("libgnutls", &LIBGNUTLS)];

/// In place of a path.
const UNLOADED: &str = "(unloaded)";

/// The path of an object, and the end of the line.
fn write_path(out: &mut Text, object: &Loaded) -> fmt::Result {
    // SAFETY: the object stays loaded during this call, and its path ends in NUL.
    let path = (!object.path.is_null()).then(|| unsafe { CStr::from_ptr(object.path) });
    for &byte in path.unwrap_or_default().to_bytes() {
        match byte {
            0..b' ' | b'\\' | 0x7F => write!(out, "\\{byte:03o}")?,
            _ => out.push(&[byte]),
        }
    }
    writeln!(out)
}

/// Text in the caller's memory. What there is no room for is only counted.
struct Text {
    to: *mut u8,
    room: usize,
    len: usize,
}

impl Text {
    fn push(&mut self, bytes: &[u8]) {
        // The last byte is the NUL's.
        let free = self.room.saturating_sub(1).saturating_sub(self.len).min(bytes.len());
        if free > 0 {
            // SAFETY: within the caller's room, by the line above.
            unsafe { self.to.add(self.len).copy_from_nonoverlapping(bytes.as_ptr(), free) };
        }
        self.len += bytes.len();
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
