//! CPython's frames, by the function that its `faulthandler` uses: it needs no lock, allocates nothing, and looks only
//! at frames of the given thread, which is this one. (traceback.c; 3.11 exports it, 3.13 no longer does. The remaining
//! functions need the interpreter's lock, which `_ssl` has released.) It writes its output to a file in memory.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};

use windlass_interpose::definitions::Name;

use super::frame::{Frame, MOST};
use crate::sink;

type ThisThread = unsafe extern "C" fn() -> *mut c_void;
type Dump = unsafe extern "C" fn(c_int, *mut c_void);

const LONGEST: u64 = 256 * 1024;

/// The functions that identify an interpreter.
pub const FUNCTIONS: [Name<'static>; 2] =
    [Name::new(c"_Py_DumpTraceback"), Name::new(c"PyGILState_GetThisThreadState")];

/// The frames of this thread; `None` if it runs no Python.
pub fn frames(functions: &[usize]) -> Option<Vec<Frame>> {
    let [dump, this_thread] = *<&[usize; FUNCTIONS.len()]>::try_from(functions).ok()?;
    // SAFETY: CPython's declarations for these names.
    let (dump, this_thread) =
        unsafe { (std::mem::transmute::<usize, Dump>(dump), std::mem::transmute::<usize, ThisThread>(this_thread)) };
    // SAFETY: null before the interpreter is initialised and on threads that it does not know.
    let thread = unsafe { this_thread() };
    if thread.is_null() {
        return None;
    }
    // SAFETY: NUL-terminated name.
    let descriptor = unsafe { libc::memfd_create(c"windlass".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return None;
    }
    let descriptor = sink::above_streams(descriptor)?;
    // The file size limit applies to this file, too.
    let _held = sink::Held::if_limited();
    // SAFETY: just opened, and owned by no one else.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    // SAFETY: the state of this very thread: nobody else changes its frames.
    unsafe { dump(file.as_raw_fd(), thread) };
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    Some(parse(&text))
}

/// Parses lines like `  File "/x.py", line 3 in f`.
fn parse(text: &[u8]) -> Vec<Frame> {
    let frame = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?.strip_prefix("  File ")?;
        let (file, rest) = line.rsplit_once(", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        let file = file.strip_prefix('"').and_then(|file| file.strip_suffix('"')).unwrap_or(file);
        Some(Frame { file: file.into(), line: number.parse().unwrap_or(0), function: function.into() })
    };
    text.split(|byte| *byte == b'\n').filter_map(frame).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lines_become_frames() {
        let text = b"Stack (most recent call first):\n  File \"/usr/lib/a, line 1 in.py\", line 12 in <module>\n\
            \x20 File ???, line ??? in ???\n  ...\n";
        let frames = parse(text);
        let seen: Vec<_> = frames.iter().map(|frame| (&frame.file[..], frame.line, &frame.function[..])).collect();
        assert_eq!(seen, [(&b"/usr/lib/a, line 1 in.py"[..], 12, &b"<module>"[..]), (b"???", 0, b"???")]);
    }
}
