//! The entry of an object's `.eh_frame` for an address: found by the sorted table of `.eh_frame_hdr` (Linux Standard
//! Base, "Exception Frames"), and read by gimli.

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EhFrameOffset, ParsedEhFrameHdr, Pointer, Register, RegisterRule,
    UnwindContext, UnwindContextStorage, UnwindExpression, UnwindSection, UnwindTableRow, Vendor,
};

use super::memory::Memory;
use super::reader::Reader;
use crate::find_object::Object;
use crate::segments::Segments;

/// The places of the registers of a frame's caller, at one address.
pub type Row = UnwindTableRow<usize, Bounded>;
/// The memory in which a row is made, reused for the frames of one walk.
pub type Context = UnwindContext<usize, Bounded>;

/// In allocated memory: the caller may have little room left on its stack.
pub struct Bounded;

/// All registers that are preserved here, including the vector registers that functions preserve on AArch64.
const MOST_RULES: usize = if cfg!(target_arch = "aarch64") { 40 } else { 20 };
/// The current row, those that are remembered meanwhile, and the initial row of its CIE.
const MOST_ROWS: usize = 9;

impl UnwindContextStorage<usize> for Bounded {
    type Rules = Box<[(Register, RegisterRule<usize>); MOST_RULES]>;
    type Stack = Box<[UnwindTableRow<usize, Bounded>; MOST_ROWS]>;
}

/// The entry for an address.
pub struct Found<'context> {
    /// The places of the caller's registers.
    pub row: &'context Row,
    /// The number of the return address's column.
    pub returns_to: usize,
    /// Whether it is the frame that the kernel creates for a signal handler: its address is exact, the one that was
    /// interrupted.
    pub is_signal: bool,
}

/// The tables of a loaded object.
pub struct Table<'a> {
    sorted: ParsedEhFrameHdr<Reader<'a>>,
    /// The whole object: an entry may be anywhere in it.
    frames: EhFrame<Reader<'a>>,
    begin: usize,
    bases: BaseAddresses,
    /// The memory that is read.
    pub memory: &'a Memory,
}

impl<'a> Table<'a> {
    /// The tables of an object.
    ///
    /// # Safety
    /// The object is loaded.
    #[inline(never)]
    pub unsafe fn of(object: &Object, memory: &'a Memory) -> Option<Box<Table<'a>>> {
        // SAFETY: as the caller states.
        let segments = unsafe { Segments::of(object, memory)? };
        let head = segments.of_kind(libc::PT_GNU_EH_FRAME).next()?;
        let begin = segments.whole.address;
        let bases = BaseAddresses::default().set_eh_frame_hdr(head.address as u64).set_eh_frame(begin as u64);
        let sorted = EhFrameHdr::from(head).parse(&bases, size_of::<usize>() as u8).ok()?;
        let mut frames = EhFrame::from(segments.whole);
        if cfg!(target_arch = "aarch64") {
            frames.set_vendor(Vendor::AArch64);
        }
        Some(Box::new(Table { sorted, frames, begin, bases, memory }))
    }

    /// The entry for an address.
    #[inline(never)]
    pub fn find<'context>(&self, address: usize, context: &'context mut Context) -> Option<Found<'context>> {
        let Pointer::Direct(entry) = self.sorted.table()?.lookup(address as u64, &self.bases).ok()? else {
            return None;
        };
        let offset = EhFrameOffset((entry as usize).checked_sub(self.begin)?);
        let entry = self.frames.fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset).ok()?;
        // gimli takes the end of each row but the last from the entry's instructions, which may leave the entry's
        // range.
        if !entry.contains(address as u64) {
            return None;
        }
        let common = entry.cie();
        // gimli takes the address of the pointer for the address itself.
        if common.fde_address_encoding().is_some_and(|encoding| encoding.is_indirect()) {
            return None;
        }
        let (returns_to, is_signal) = (usize::from(common.return_address_register().0), entry.is_signal_trampoline());
        let row = entry.unwind_info_for_address(&self.frames, &self.bases, context, address as u64).ok()?;
        Some(Found { row, returns_to, is_signal })
    }

    /// The bytes of an expression.
    pub fn code(&self, expression: &UnwindExpression<usize>) -> Option<Reader<'a>> {
        expression.get(&self.frames).ok().map(|expression| expression.0)
    }
}
