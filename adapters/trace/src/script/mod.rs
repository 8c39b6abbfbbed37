//! The frames of an interpreter, for programs whose native frames say little.

mod python;
mod ruby;

use crate::json;

const MOST: usize = 64;

/// One frame.
struct Frame {
    file: Vec<u8>,
    line: i64,
    function: Vec<u8>,
}

/// The frames of Python or Ruby code on this thread, innermost first, as JSON; `null` where there are none.
pub fn frames() -> String {
    let found = python::frames().or_else(ruby::frames).filter(|frames| !frames.is_empty());
    let Some(frames) = found else { return "null".to_owned() };
    let mut list = String::from("[");
    for frame in &frames {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str("{\"file\":");
        json::string(&mut list, &frame.file, json::LONGEST_PATH);
        list.push_str(&format!(",\"line\":{},\"function\":", frame.line));
        json::string(&mut list, &frame.function, json::LONGEST_TEXT);
        list.push('}');
    }
    list.push(']');
    list
}

/// The address of a function in the global scope; looked for again until it is there, because an interpreter may be loaded later.
fn symbol(name: &std::ffi::CStr, known: &std::sync::atomic::AtomicUsize) -> Option<usize> {
    use std::sync::atomic::Ordering;
    let mut address = known.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: a search in the global scope by a NUL-terminated name.
        address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        known.store(address, Ordering::Relaxed);
    }
    if address == 0 {
        // SAFETY: clears the message that our own failed search left for this thread.
        unsafe { libc::dlerror() };
        return None;
    }
    Some(address)
}
