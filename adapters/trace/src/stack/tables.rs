//! Which entry of an object's `.eh_frame` describes an address, by the sorted table of `.eh_frame_hdr` (Linux Standard
//! Base, "Exception Frames").

use super::memory::Memory;
use crate::find_object::Object;
use crate::segments::Segments;

/// Bytes of this process's memory that are read one after the other. Each read fails at the end, and where nothing can
/// be read.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    memory: &'a Memory,
    /// Address of the next byte.
    pub address: usize,
    end: usize,
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
    /// Of the bytes from `address` to `end`.
    pub fn new(memory: &'a Memory, address: usize, end: usize) -> Reader<'a> {
        Reader { memory, address, end: end.max(address) }
    }

    /// The bytes from another address on, which is one of these.
    pub fn from(&self, address: usize) -> Option<Reader<'a>> {
        (self.address..self.end).contains(&address).then_some(Reader { address, ..*self })
    }

    /// Whether all bytes were read.
    pub fn is_at_end(&self) -> bool {
        self.address == self.end
    }

    /// Passes over that many bytes.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.part(count).map(drop)
    }

    /// A part of its own of that many bytes.
    pub fn part(&mut self, count: usize) -> Option<Reader<'a>> {
        let end = self.address.checked_add(count).filter(|end| *end <= self.end)?;
        let part = Reader { end, ..*self };
        self.address = end;
        Some(part)
    }

    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.number(1).map(|byte| byte as u8)
    }

    /// An unsigned number of 1, 2, 4 or 8 bytes.
    #[inline]
    pub fn number(&mut self, size: usize) -> Option<u64> {
        let (memory, at) = (self.memory, self.part(size)?.address);
        Some(match size {
            1 => u64::from(u8::from_le_bytes(memory.bytes(at)?)),
            2 => u64::from(u16::from_le_bytes(memory.bytes(at)?)),
            4 => u64::from(u32::from_le_bytes(memory.bytes(at)?)),
            8 => u64::from_le_bytes(memory.bytes(at)?),
            _ => return None,
        })
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

    /// A pointer in one of the encodings of exception tables; `None` for those that need more than the place that they
    /// stand at.
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
        // The highest bit says that the pointer lies where this one points.
        match encoding & 0xf0 {
            0x00 => Some(value),
            0x10 => Some(place.wrapping_add(value)),
            _ => None,
        }
    }
}

/// The sorted table of a loaded object.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// Where the table is, to which its addresses are relative.
    header: usize,
    /// Pairs of addresses: of code, and of the entry about it.
    pairs: Reader<'a>,
    count: usize,
    object: Reader<'a>,
}

impl<'a> Table<'a> {
    /// That of an object.
    ///
    /// # Safety
    /// The object is loaded.
    pub unsafe fn of(object: &Object, memory: &'a Memory) -> Option<Table<'a>> {
        // SAFETY: as the caller states.
        let segments = unsafe { Segments::of(object, memory)? };
        let mut head = segments.of_kind(libc::PT_GNU_EH_FRAME).next()?;
        let header = head.address;
        // Version; `.eh_frame` relative to its place, a count of 4 bytes, a table of pairs relative to the header: what
        // linkers write.
        if head.number(4)? != u64::from(u32::from_le_bytes([1, 0x1b, 0x03, 0x3b])) {
            return None;
        }
        head.skip(4)?;
        let count = head.number(4)? as usize;
        Some(Table { header, pairs: head.part(count.checked_mul(8)?)?, count, object: segments.whole })
    }

    /// The entry for an address.
    pub fn entry(&self, address: usize) -> Option<Entry<'a>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.field(middle * 2)? <= address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut entry = self.object.from(self.field(low.checked_sub(1)? * 2 + 1)?)?;
        let length = entry.number(4)? as usize;
        let mut entry = entry.part(length)?;
        let place_of_offset = entry.address;
        let mut common = self.object.from(place_of_offset.checked_sub(entry.number(4)? as usize)?)?;
        let length = common.number(4)? as usize;
        read(common.part(length)?, entry, address)
    }

    fn field(&self, at: usize) -> Option<usize> {
        let mut place = self.pairs.from(self.pairs.address + at * 4)?;
        Some(self.header.wrapping_add(place.signed(4)? as usize))
    }
}

/// Reads a common part (CIE) and the entry (FDE).
fn read<'a>(mut common: Reader<'a>, mut entry: Reader<'a>, address: usize) -> Option<Entry<'a>> {
    let (id, version) = (common.number(4)?, common.byte()?);
    if id != 0 || !matches!(version, 1 | 3) {
        return None;
    }
    let mut letters = [0; 8];
    let mut length = 0;
    while let letter @ 1.. = common.byte()? {
        *letters.get_mut(length)? = letter;
        length += 1;
    }
    let augmentation = &letters[..length];
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
                    const ALIGNED: u8 = 0x50;
                    let encoding = data.byte()?;
                    // Only its size matters; what stands before an aligned one is not known.
                    (encoding != ALIGNED).then(|| data.pointer(encoding & 0x0f))??;
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
        entry.skip(length)?;
    }
    Some(Entry { initial: common, own: entry, begin, code_factor, data_factor, returns_to, is_signal })
}
