//! The one module with `unsafe`: maps a sealed memory file as counters.

use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Maps the first `len` counters of a memory file for the rest of the process. None if that can't be done safely.
pub(crate) fn counters(file: BorrowedFd<'_>, len: usize) -> Option<&'static [AtomicU64]> {
    let bytes = len.checked_mul(size_of::<AtomicU64>())?;
    let seals = fcntl_get_seals(file).ok()?;
    let size = usize::try_from(fstat(file).ok()?.st_size).ok()?;
    if !seals.contains(SealFlags::SHRINK) || size < bytes || bytes == 0 {
        return None;
    }
    let flags = MapFlags::SHARED;
    // SAFETY: the kernel chooses the place of the mapping (the hint is null), so no existing memory is touched.
    let start = unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, 0) };
    let start = start.ok()?.cast::<AtomicU64>();
    // SAFETY: the mapping is page aligned, `bytes` long, readable and writable, and never unmapped, so it lives as
    // long as the process. The file can't become shorter, as it was sealed against that before its size was read
    // (seals can't be taken away), so no access faults. Other processes change the memory, and atomics allow that;
    // every bit pattern is a valid AtomicU64.
    Some(unsafe { std::slice::from_raw_parts(start, len) })
}
