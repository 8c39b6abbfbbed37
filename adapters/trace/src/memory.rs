//! The amount of memory that the C library's allocator has handed out.

use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_interpose::definitions::Name;
use windlass_interpose::linker;

use crate::clock;

/// `struct mallinfo2` of <malloc.h>, glibc 2.33.
#[repr(C)]
struct Info {
    arena: usize,
    /// `ordblks`: free blocks.
    free_blocks: usize,
    fast_blocks: usize,
    mapped_blocks: usize,
    /// `hblkhd`: bytes in blocks of their own mapping.
    mapped: usize,
    unused: usize,
    fast_free: usize,
    /// `uordblks`: bytes in use.
    used: usize,
    free: usize,
    top: usize,
}

type Mallinfo2 = unsafe extern "C" fn() -> Info;

/// `mallinfo2`, or 0.
static FUNCTION: AtomicUsize = AtomicUsize::new(0);

/// The function visits each free block, and all threads that allocate wait meanwhile: it is not called again once it
/// has taken this long (ns).
const LONGEST: u64 = 500_000;
/// With fewer free blocks, the scheduler took the time, not the function.
const FEW_BLOCKS: usize = 10_000;

/// Bytes in use, by `mallinfo2`. `None` with another allocator, which this function does not cover, before glibc 2.33,
/// and if the heap has so many free blocks that the call takes too long.
pub fn in_use() -> Option<i64> {
    let address = FUNCTION.load(Ordering::Relaxed);
    if address == 0 {
        return None;
    }
    let begun = clock::now();
    // SAFETY: glibc documents this signature for the symbol of this name.
    let info = unsafe { std::mem::transmute::<usize, Mallinfo2>(address)() };
    if clock::now().saturating_sub(begun) > LONGEST && info.free_blocks > FEW_BLOCKS {
        FUNCTION.store(0, Ordering::Relaxed);
    }
    i64::try_from(info.used.checked_add(info.mapped)?).ok()
}

/// Looks for the function, once, at the start. It belongs to the first object that defines `malloc`.
pub fn find() {
    const MALLOC: Name = Name::new(c"malloc");
    const INFO: Name = Name::new(c"mallinfo2");
    linker::each_object(0, |object| {
        let definitions = object.definitions().filter(|definitions| definitions.find(MALLOC).is_some());
        if let Some(definitions) = &definitions
            && object.soname().is_some_and(|name| name == c"libc.so.6")
        {
            FUNCTION.store(definitions.find(INFO).unwrap_or(0), Ordering::Relaxed);
        }
        definitions.is_none()
    });
}
