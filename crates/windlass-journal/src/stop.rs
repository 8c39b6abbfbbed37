//! The points at which a test stops the changes, as if the process had been killed there.

use std::io;

/// Called before each change.
#[cfg(not(any(test, feature = "testing")))]
#[expect(clippy::unnecessary_wraps, reason = "tests stop here")]
pub fn change() -> io::Result<()> {
    Ok(())
}

#[cfg(any(test, feature = "testing"))]
thread_local! {
    /// How many more changes this thread makes; None: no limit.
    pub static LEFT: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
    /// Treats any two directories as being on different file systems.
    pub static APART: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Called before each change.
#[cfg(any(test, feature = "testing"))]
pub fn change() -> io::Result<()> {
    LEFT.with(|left| match left.get() {
        Some(0) => Err(io::Error::other("stopped by the test")),
        some => {
            left.set(some.map(|some| some - 1));
            Ok(())
        }
    })
}
