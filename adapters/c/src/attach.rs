//! Attaching the preload library from within a program.

use std::ffi::{CStr, c_char, c_int};

use windlass_interpose::fork_lock::ForkLock;

use crate::border::{answer, shielded};
use crate::error::{Code, ErrorInfo, Failure};
use crate::preload;

/// The states of windlass.h. The first five are the preload library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum State {
    Detached,
    Attached,
    Disabled,
    Secure,
    Audited,
    Already,
    NotLoaded,
    Failed,
    Unavailable,
}

const STATES: [(State, &CStr); 9] = [
    (State::Detached, c"detached"),
    (State::Attached, c"attached"),
    (State::Disabled, c"disabled"),
    (State::Secure, c"secure-execution"),
    (State::Audited, c"audited"),
    (State::Already, c"already"),
    (State::NotLoaded, c"not-loaded"),
    (State::Failed, c"failed"),
    (State::Unavailable, c"unavailable"),
];

impl State {
    fn of(number: c_int) -> State {
        let known = STATES.iter().map(|(state, _)| *state).find(|state| *state as c_int == number);
        known.unwrap_or(State::Failed)
    }
}

/// One thread at a time attaches or detaches.
static TURN: ForkLock = ForkLock::new();

/// See windlass.h.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_state_text(state: c_int) -> *const c_char {
    let known = STATES.iter().find(|(known, _)| *known as c_int == state);
    known.map_or(c"unknown", |(_, text)| text).as_ptr()
}

/// See windlass.h.
///
/// # Safety
/// `error` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_attach(error: *mut ErrorInfo) -> c_int {
    // SAFETY: as the caller states.
    unsafe { attach_and_tell(false, error) }
}

/// See windlass.h.
///
/// # Safety
/// As for [`windlass_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_attach_early(error: *mut ErrorInfo) -> c_int {
    // SAFETY: as the caller states.
    unsafe { attach_and_tell(true, error) }
}

/// # Safety
/// As for [`windlass_attach`].
unsafe fn attach_and_tell(early: bool, error: *mut ErrorInfo) -> c_int {
    let mut state = State::Failed;
    let attach = || {
        state = attach(early).inspect_err(|_| state = State::Unavailable)?;
        if state == State::Failed { Err(Failure::new(Code::Internal)) } else { Ok(()) }
    };
    // SAFETY: as above.
    unsafe { answer(error, attach) };
    state as c_int
}

fn attach(early: bool) -> Result<State, Failure> {
    // SAFETY: no preconditions.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return Ok(State::Secure);
    }
    let _turn = TURN.lock();
    let here = preload::functions();
    // SAFETY: functions of the preload library, which is never unloaded.
    let state = |functions: &preload::Functions| State::of(unsafe { (functions.state)() });
    let was_attached = here.as_ref().map(state) == Some(State::Attached);
    let functions = here.map_or_else(preload::load, Ok)?;
    // SAFETY: as above.
    if unsafe { (functions.attach)() } < 0 {
        return Ok(State::Failed);
    }
    if early {
        // SAFETY: as above.
        unsafe { (functions.excuse)(1) };
    }
    if was_attached {
        return Ok(State::Already);
    }
    Ok(Some(state(&functions)).filter(|state| *state != State::Detached).unwrap_or(State::Failed))
}

/// See windlass.h.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_detach() -> c_int {
    let detach = || {
        let _turn = TURN.lock();
        let Some(functions) = preload::functions() else { return State::NotLoaded };
        // SAFETY: a function of the preload library, which is never unloaded.
        if unsafe { (functions.detach)() } < 0 { State::Failed } else { State::Detached }
    };
    shielded(detach).unwrap_or(State::Failed) as c_int
}

/// See windlass.h.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_state() -> c_int {
    let find = || match preload::functions() {
        // SAFETY: a function of the preload library, which is never unloaded.
        Some(functions) => State::of(unsafe { (functions.state)() }),
        None => State::NotLoaded,
    };
    shielded(find).unwrap_or(State::Failed) as c_int
}

/// See windlass.h.
///
/// # Safety
/// `text` has room for that many bytes, or is null and `room` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_status(text: *mut c_char, room: usize) -> usize {
    let tell = || {
        if let Some(functions) = preload::functions() {
            // SAFETY: as above; a function of the preload library, which is never unloaded.
            return unsafe { (functions.status)(text, room) };
        }
        let status = concat!("version ", env!("CARGO_PKG_VERSION"), "\nstate not-loaded\n").as_bytes();
        if let (false, Some(last)) = (text.is_null(), room.checked_sub(1)) {
            let len = status.len().min(last);
            // SAFETY: as above.
            unsafe {
                text.cast::<u8>().copy_from_nonoverlapping(status.as_ptr(), len);
                text.add(len).write(0);
            }
        }
        status.len()
    };
    shielded(tell).unwrap_or(0)
}

/// See windlass.h.
#[unsafe(no_mangle)]
pub extern "C" fn windlass_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
