//! Bytes of this process's memory, for gimli to read.

use std::borrow::Cow;

use gimli::{Error, LittleEndian, ReaderOffsetId, Result};

use super::memory::Memory;

/// Bytes that are read one after the other. A read fails at the end, and where memory can't be read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    memory: &'a Memory,
    /// The address of the next byte.
    pub address: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    /// The bytes from `address` to `end`.
    pub fn new(memory: &'a Memory, address: usize, end: usize) -> Reader<'a> {
        Reader { memory, address, end: end.max(address) }
    }

    /// The bytes from another address on, which must be one of these.
    pub fn from(&self, address: usize) -> Option<Reader<'a>> {
        (self.address..self.end).contains(&address).then_some(Reader { address, ..*self })
    }

    fn at_end(&self) -> Error {
        Error::UnexpectedEof(gimli::Reader::offset_id(self))
    }
}

impl gimli::Reader for Reader<'_> {
    type Endian = LittleEndian;
    type Offset = usize;

    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    fn len(&self) -> usize {
        self.end - self.address
    }

    fn empty(&mut self) {
        self.end = self.address;
    }

    fn truncate(&mut self, length: usize) -> Result<()> {
        if length > self.len() {
            return Err(self.at_end());
        }
        self.end = self.address + length;
        Ok(())
    }

    fn offset_from(&self, base: &Self) -> usize {
        self.address.wrapping_sub(base.address)
    }

    fn offset_id(&self) -> ReaderOffsetId {
        ReaderOffsetId(self.address as u64)
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        (id.0 as usize).checked_sub(self.address).filter(|offset| *offset <= self.len())
    }

    fn find(&self, byte: u8) -> Result<usize> {
        let mut rest = *self;
        while rest.read_u8()? != byte {}
        Ok(rest.address - 1 - self.address)
    }

    fn skip(&mut self, length: usize) -> Result<()> {
        self.split(length).map(drop)
    }

    fn split(&mut self, length: usize) -> Result<Self> {
        let mut part = *self;
        part.truncate(length)?;
        self.address = part.end;
        Ok(part)
    }

    fn read_slice(&mut self, bytes: &mut [u8]) -> Result<()> {
        let part = self.split(bytes.len())?;
        self.memory.fill(part.address, bytes).ok_or_else(|| part.at_end())
    }

    // Unwinding a stack uses none of these.

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        Err(self.at_end())
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        Err(self.at_end())
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Err(self.at_end())
    }
}
