//! How much memory the C library's allocator has given out.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_interpose::image::Image;
use windlass_interpose::object::Object;

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

/// The function visits each free block, and all who allocate wait meanwhile: it is not called again after it took this long (ns).
const LONGEST: u64 = 500_000;
/// With fewer, it was the scheduler that took the time.
const FEW_BLOCKS: usize = 10_000;

/// Bytes in use, by `mallinfo2`; `None` with another allocator, which that function knows nothing of, before glibc 2.33, and in a heap of so
/// many free blocks that asking takes too long.
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

/// Looks for the function. Once, at the start: it needs the dynamic linker's lock.
pub fn find() {
    FUNCTION.store(search().unwrap_or(0), Ordering::Relaxed);
}

fn search() -> Option<usize> {
    let symbol = |scope, name: &CStr| {
        // SAFETY: a search in a global scope by a NUL-terminated name.
        let found = unsafe { libc::dlsym(scope, name.as_ptr()) } as usize;
        (found != 0).then_some(found)
    };
    let info = symbol(libc::RTLD_DEFAULT, c"mallinfo2")?;
    let c_library = Object::of(info)?;
    let malloc = symbol(libc::RTLD_DEFAULT, c"malloc")?;
    let is_its_own = c_library.contains(malloc)
        // In an executable at a fixed address the function's address may be that of an entry of its procedure linkage table.
        || (imports_malloc(&Object::of(malloc)?) && c_library.contains(symbol(libc::RTLD_NEXT, c"malloc")?));
    is_its_own.then_some(info)
}

/// Whether an object has a relocation that names `malloc`: then that is not its own.
fn imports_malloc(object: &Object) -> bool {
    // SAFETY: the executable, or a library that the global scope has: neither is unloaded.
    let image = unsafe { Image::of_object(object) };
    // SAFETY: names of its string table.
    image.is_some_and(|image| image.imports().any(|name| unsafe { CStr::from_ptr(name) } == c"malloc"))
}
