//! What is said of one frame of interpreted code.

/// More frames are not asked for.
pub const MOST: usize = 64;

/// One frame.
pub struct Frame {
    /// The source file, as the interpreter names it.
    pub file: Vec<u8>,
    /// Line in it.
    pub line: i64,
    /// What runs.
    pub function: Vec<u8>,
}
