//! The one module of this crate with `unsafe`: maps a sealed memory file as counters.

use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Maps the first `len` counters of a memory file for the rest of the process. Fails if this can't be done safely.
pub(crate) fn counters(file: BorrowedFd<'_>, len: usize) -> Result<&'static [AtomicU64], Errno> {
    let bytes = len.checked_mul(size_of::<AtomicU64>()).ok_or(Errno::INVAL)?;
    let seals = fcntl_get_seals(file)?;
    let size = usize::try_from(fstat(file)?.st_size).map_err(|_| Errno::INVAL)?;
    if !seals.contains(SealFlags::SHRINK) || size < bytes || bytes == 0 {
        return Err(Errno::INVAL);
    }
    let flags = MapFlags::SHARED;
    // SAFETY: the kernel chooses the place of the mapping (the hint is null), so no existing memory is touched.
    let start = unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) };
    let start = start?.cast::<AtomicU64>();
    // SAFETY: the mapping is page aligned, `bytes` long, readable and writable, and never unmapped, so it lives as long
    // as the process. The file can't shrink, because it was sealed against this before its size was read (seals can't
    // be removed), so no access faults. Other processes change the memory, and atomics allow this; every bit pattern is
    // a valid AtomicU64.
    Ok(unsafe { std::slice::from_raw_parts(start, len) })
}
