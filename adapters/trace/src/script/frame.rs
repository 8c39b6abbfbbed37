//! One frame of interpreted code.

/// The most frames that are requested.
pub const MOST: usize = 64;

/// One frame.
pub struct Frame {
    /// The source file, as the interpreter names it.
    pub file: Vec<u8>,
    /// The line in it.
    pub line: i64,
    /// The name of the running function.
    pub function: Vec<u8>,
}
