//! Byte buffers shared by several parts of a root store.

use std::ops::Range;
use std::sync::Arc;

/// A part of a shared, immutable buffer.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    buffer: Arc<Vec<u8>>,
    part: Range<usize>,
}

impl Bytes {
    /// A part of these bytes; None if the range is out of bounds.
    pub fn part(&self, part: Range<usize>) -> Option<Bytes> {
        let part = self.part.start.checked_add(part.start)?..self.part.start.checked_add(part.end)?;
        let inside = part.start <= part.end && part.end <= self.part.end;
        inside.then(|| Bytes { buffer: Arc::clone(&self.buffer), part })
    }

    pub fn as_slice(&self) -> &[u8] {
        self.buffer.get(self.part.clone()).unwrap_or(&[])
    }
}

impl Bytes {
    /// Takes a buffer, without the room that it has left.
    pub fn trimmed(mut buffer: Vec<u8>) -> Bytes {
        if buffer.capacity() - buffer.len() > buffer.len() / 16 {
            buffer.shrink_to_fit();
        }
        Bytes::from(buffer)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(buffer: Vec<u8>) -> Bytes {
        let part = 0..buffer.len();
        Bytes { buffer: Arc::new(buffer), part }
    }
}
