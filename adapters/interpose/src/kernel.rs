//! System calls made before the C library is ready.
//!
//! The constructor of a library that a program starts with may run before the C library's own. Another preloaded
//! library may stand in front of `stat` or `open` (fakeroot, umockdev, tsocks), and expects the environment to be set
//! by then. These functions therefore call the kernel directly.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::AtomicU64;

/// The status of the file that a path leads to.
pub fn stat(path: &CStr) -> Option<libc::stat64> {
    // SAFETY: a path, and room for the result.
    filled(|room| unsafe {
        call(libc::SYS_newfstatat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, room, 0, 0, 0])
    })
}

/// A root directory, and the mount that it is in: each mount namespace has mounts of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootDirectory {
    device: (u32, u32),
    inode: u64,
    /// `None` before Linux 5.8.
    mount: Option<u64>,
}

/// The root directory of this thread.
pub fn root_directory() -> Option<RootDirectory> {
    /// `STATX_MNT_ID_UNIQUE` (Linux 6.8): with it, the number of a mount is never used again.
    const UNIQUE: libc::c_uint = 0x4000;
    let wanted = libc::STATX_INO | libc::STATX_MNT_ID | UNIQUE;
    // SAFETY: a path, and room for the result.
    let found: libc::statx = filled(|room| unsafe {
        call(libc::SYS_statx, [libc::AT_FDCWD as usize, c"/".as_ptr() as usize, 0, wanted as usize, room, 0])
    })?;
    let has_mount = found.stx_mask & (libc::STATX_MNT_ID | UNIQUE) != 0;
    Some(RootDirectory {
        device: (found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        mount: has_mount.then_some(found.stx_mnt_id),
    })
}

/// The file system that a path leads to.
pub fn statfs(path: &CStr) -> Option<libc::statfs64> {
    // SAFETY: a path, and room for the result.
    filled(|room| unsafe { call(libc::SYS_statfs, [path.as_ptr() as usize, room, 0, 0, 0, 0]) })
}

/// The effective user that the program was started with.
pub fn effective_user() -> libc::uid_t {
    // SAFETY: no preconditions; the value is in the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_EUID) as libc::uid_t }
}

/// An open file.
pub struct File(RawFd);

impl File {
    /// Opens the file that a path leads to; creates none.
    pub fn open(path: &CStr, flags: i32) -> Option<File> {
        let (directory, path) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
        // SAFETY: a path.
        let opened = unsafe { call(libc::SYS_openat, [directory, path, (flags | libc::O_CLOEXEC) as usize, 0, 0, 0]) };
        (opened >= 0).then_some(File(opened as RawFd))
    }

    /// Its status.
    pub fn stat(&self) -> Option<libc::stat64> {
        let (opened, empty) = (self.0 as usize, c"".as_ptr() as usize);
        // SAFETY: room for the result.
        filled(|room| unsafe { call(libc::SYS_newfstatat, [opened, empty, room, libc::AT_EMPTY_PATH as usize, 0, 0]) })
    }

    /// Maps the first `len` counters of a memory file, for the rest of the process; `None` if this can't be done
    /// safely.
    pub fn counters(&self, len: usize) -> Option<&'static [AtomicU64]> {
        let (opened, bytes) = (self.0 as usize, len.checked_mul(size_of::<AtomicU64>())?);
        // SAFETY: the seals of an open file.
        let seals = unsafe { call(libc::SYS_fcntl, [opened, libc::F_GET_SEALS as usize, 0, 0, 0, 0]) };
        let is_sealed = seals >= 0 && seals & libc::F_SEAL_SHRINK as isize != 0;
        let size = self.stat().and_then(|stat| usize::try_from(stat.st_size).ok())?;
        if !is_sealed || bytes == 0 || size < bytes {
            return None;
        }
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: the kernel chooses the place of the mapping, in unused space.
        let start = unsafe { call(libc::SYS_mmap, [0, bytes, access as usize, kind as usize, opened, 0]) };
        if start <= 0 {
            return None;
        }
        // SAFETY: page aligned, readable and writable, never unmapped. The file can't shrink: it was sealed against
        // this before its size was read, and seals stay. Other processes change it, which atomics allow.
        Some(unsafe { std::slice::from_raw_parts(start as *const AtomicU64, len) })
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: our own file, and nobody uses it any more.
        unsafe { call(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

fn filled<T>(fill: impl FnOnce(usize) -> isize) -> Option<T> {
    let mut room = MaybeUninit::<T>::uninit();
    let done = fill(room.as_mut_ptr() as usize) == 0;
    // SAFETY: the kernel has filled it.
    done.then(|| unsafe { room.assume_init() })
}

/// Makes a system call.
///
/// # Safety
/// As the call demands.
unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel keeps all registers but these (syscall(2)); the caller answers for its effect on memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number as isize,
            inlateout("x0") arguments[0] => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_the_c_library_tells() {
        let mut known = MaybeUninit::<libc::stat64>::uninit();
        let file = File::open(c"/proc/self/exe", libc::O_RDONLY).unwrap();
        // SAFETY: room for the state of an open file.
        let known = unsafe {
            assert_eq!(libc::fstat64(file.as_raw_fd(), known.as_mut_ptr()), 0);
            known.assume_init()
        };
        for found in [stat(c"/proc/self/exe").unwrap(), file.stat().unwrap()] {
            assert_eq!((found.st_dev, found.st_ino, found.st_size), (known.st_dev, known.st_ino, known.st_size));
        }
        assert_eq!(statfs(c"/proc").unwrap().f_type, 0x9fa0);
        // SAFETY: no preconditions.
        assert_eq!(effective_user(), unsafe { libc::geteuid() });
        let root = root_directory().unwrap();
        assert_eq!((Some(root), root.inode), (root_directory(), stat(c"/").unwrap().st_ino));
        assert!(stat(c"/nowhere").is_none() && statfs(c"/nowhere").is_none());
        assert!(File::open(c"/nowhere", libc::O_RDONLY).is_none());
    }
}
