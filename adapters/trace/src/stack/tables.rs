//! Which entry of an object's `.eh_frame` describes an address, by the sorted table of `.eh_frame_hdr` (Linux Standard Base, "Exception Frames").

use windlass_interpose::object::Object;

use crate::segments::Segments;

/// Bytes that are read one after the other. Each read fails at the end.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Address of the next byte.
    pub address: usize,
}

/// What an entry says, before it is interpreted.
pub struct Entry<'a> {
    /// Of all entries with this common part.
    pub initial: Reader<'a>,
    /// Of this one.
    pub own: Reader<'a>,
    /// First address that it is about.
    pub begin: usize,
    /// Factor of addresses.
    pub code_factor: u64,
    /// Factor of offsets.
    pub data_factor: i64,
    /// Number of the return address's column.
    pub returns_to: usize,
    /// It is the frame that the kernel makes for a signal handler: the address that it was interrupted at is exact.
    pub is_signal: bool,
}

impl<'a> Reader<'a> {
    /// Of bytes in memory.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, address: bytes.as_ptr() as usize }
    }

    /// That many bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        self.address += count;
        Some(taken)
    }

    /// A part of its own of that many bytes.
    pub fn part(&mut self, count: usize) -> Option<Reader<'a>> {
        self.take(count).map(Reader::new)
    }

    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// An unsigned number of 1, 2, 4 or 8 bytes.
    pub fn number(&mut self, size: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(self.take(size)?);
        Some(u64::from_le_bytes(bytes))
    }

    /// A signed one.
    pub fn signed(&mut self, size: usize) -> Option<i64> {
        let shift = 64 - 8 * size as u32;
        Some(((self.number(size)? << shift) as i64) >> shift)
    }

    /// ULEB128.
    pub fn leb(&mut self) -> Option<u64> {
        self.leb_bits().map(|(value, _, _)| value)
    }

    /// SLEB128.
    pub fn signed_leb(&mut self) -> Option<i64> {
        let (value, bits, negative) = self.leb_bits()?;
        Some(if negative && bits < 64 { value as i64 | (-1i64 << bits) } else { value as i64 })
    }

    fn leb_bits(&mut self) -> Option<(u64, u32, bool)> {
        let (mut value, mut bits) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            if bits < 64 {
                value |= u64::from(byte & 0x7f) << bits;
            }
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte & 0x40 != 0));
            }
        }
    }

    /// A pointer in one of the encodings of exception tables; `None` for those that need more than the place that they stand at.
    fn pointer(&mut self, encoding: u8) -> Option<usize> {
        let place = self.address;
        let value = match encoding & 0x0f {
            0x01 => self.leb()? as usize,
            0x02 => self.number(2)? as usize,
            0x03 => self.number(4)? as usize,
            0x00 | 0x04 | 0x0c => self.number(8)? as usize,
            0x09 => self.signed_leb()? as usize,
            0x0a => self.signed(2)? as usize,
            0x0b => self.signed(4)? as usize,
            _ => return None,
        };
        match encoding & 0x70 {
            0x00 => Some(value),
            0x10 => Some(place.wrapping_add(value)),
            _ => None,
        }
    }
}

/// The entry for an address in a loaded object.
///
/// # Safety
/// The object stays loaded as long as what is returned is used.
pub unsafe fn entry<'a>(object: &Object, address: usize) -> Option<Entry<'a>> {
    // SAFETY: as the caller states.
    let segments = unsafe { Segments::of(object)? };
    let header = segments.of_kind(libc::PT_GNU_EH_FRAME).next()?;
    let (segment, header) = (segments.around(header)?, segments.address(header));
    let place = |address: usize| Some(Reader::new(segment.get(address.checked_sub(segment.as_ptr() as usize)?..)?));
    let mut head = place(header)?;
    // Version; `.eh_frame` relative to its place, a count of 4 bytes, a table of pairs relative to the header: what linkers write.
    if head.take(4)? != [1, 0x1b, 0x03, 0x3b] {
        return None;
    }
    head.take(4)?;
    let count = head.number(4)? as usize;
    let table = head.take(count.checked_mul(8)?)?;
    let field = |at: usize| {
        let bytes = table.get(at * 4..at * 4 + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(|bytes| header.wrapping_add(i32::from_le_bytes(bytes) as usize))
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if field(middle * 2)? <= address {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let mut entry = place(field(low.checked_sub(1)? * 2 + 1)?)?;
    let length = entry.number(4)? as usize;
    let mut entry = entry.part(length)?;
    let place_of_offset = entry.address;
    let mut common = place(place_of_offset.checked_sub(entry.number(4)? as usize)?)?;
    let length = common.number(4)? as usize;
    read(common.part(length)?, entry, address)
}

/// Reads a common part (CIE) and the entry (FDE).
fn read<'a>(mut common: Reader<'a>, mut entry: Reader<'a>, address: usize) -> Option<Entry<'a>> {
    let (id, version) = (common.number(4)?, common.byte()?);
    if id != 0 || !matches!(version, 1 | 3) {
        return None;
    }
    let length = common.rest.iter().position(|byte| *byte == 0)?;
    let augmentation = &common.take(length + 1)?[..length];
    let (code_factor, data_factor) = (common.leb()?, common.signed_leb()?);
    let returns_to = if version == 1 { u64::from(common.byte()?) } else { common.leb()? } as usize;
    let (mut encoding, mut is_signal) = (0, false);
    if let Some((b'z', letters)) = augmentation.split_first() {
        let length = common.leb()? as usize;
        let mut data = common.part(length)?;
        for letter in letters {
            match letter {
                b'R' => encoding = data.byte()?,
                b'L' => drop(data.byte()?),
                b'P' => {
                    let encoding = data.byte()?;
                    // Only its size matters.
                    data.pointer(encoding & 0x0f)?;
                }
                b'S' => is_signal = true,
                b'B' | b'G' => {}
                _ => return None,
            }
        }
    } else if !augmentation.is_empty() {
        return None;
    }
    let begin = entry.pointer(encoding)?;
    let size = entry.pointer(encoding & 0x0f)?;
    if !(begin..begin.checked_add(size)?).contains(&address) {
        return None;
    }
    if !augmentation.is_empty() {
        let length = entry.leb()? as usize;
        entry.take(length)?;
    }
    Some(Entry { initial: common, own: entry, begin, code_factor, data_factor, returns_to, is_signal })
}
