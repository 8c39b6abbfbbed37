//! A child process, for changes that affect a whole process rather than one thread: privileges, mounts, a violent end.

use std::ffi::{CString, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::null;

unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(status: c_int) -> !;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn geteuid() -> c_uint;
    fn getegid() -> c_uint;
    fn unshare(flags: c_int) -> c_int;
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
    fn prctl(option: c_int, value: c_long) -> c_int;
}

const CLONE_NEWNS: c_int = 0x0002_0000;
const CLONE_NEWUSER: c_int = 0x1000_0000;
const PR_SET_PDEATHSIG: c_int = 1;
const SIGKILL: c_int = 9;

pub const RDONLY: c_ulong = 0x1;
pub const REMOUNT: c_ulong = 0x20;
pub const BIND: c_ulong = 0x1000;
const REC_PRIVATE: c_ulong = 0x4000 | 0x4_0000;

pub const OTHER_USER: u32 = 12_345;

/// A forked process.
pub struct Child(c_int);

impl Child {
    /// Runs `work` in a child.
    pub fn start(work: impl FnOnce()) -> Child {
        // SAFETY: the child runs `work` and ends; it touches no lock that a thread of the test harness may hold,
        // besides those of the allocator, which the C library sets free in the child.
        let process = unsafe { fork() };
        if process == 0 {
            // SAFETY: no memory is involved. It must not go on when a test has failed.
            unsafe { prctl(PR_SET_PDEATHSIG, c_long::from(SIGKILL)) };
            let outcome = catch_unwind(AssertUnwindSafe(work));
            // SAFETY: nothing is to be cleaned up in the child.
            unsafe { _exit(c_int::from(outcome.is_err())) };
        }
        assert!(process > 0);
        Child(process)
    }

    /// Waits for its end, and fails if it failed.
    #[track_caller]
    pub fn join(self) {
        assert_eq!(self.wait(), 0, "the child failed");
    }

    /// Kills it at once.
    pub fn kill(self) {
        // SAFETY: the process is our child, and has not been waited for.
        assert_eq!(unsafe { kill(self.0, SIGKILL) }, 0);
        assert_eq!(self.wait(), SIGKILL, "it had ended before");
    }

    fn wait(&self) -> c_int {
        let mut status = -1;
        // SAFETY: the process is our child, and the status a valid place.
        assert_eq!(unsafe { waitpid(self.0, &mut status, 0) }, self.0);
        status
    }
}

/// Runs `work` in a child, and fails if it fails there.
#[track_caller]
pub fn in_child(work: impl FnOnce()) {
    Child::start(work).join();
}

pub fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { geteuid() == 0 }
}

/// Gives this process, a child, mounts of its own. In a user namespace of its own anybody may mount.
pub fn own_mounts() {
    // SAFETY: no memory is involved.
    let (user, group) = unsafe { (geteuid(), getegid()) };
    let flags = if user == 0 { CLONE_NEWNS } else { CLONE_NEWNS | CLONE_NEWUSER };
    // SAFETY: no memory is involved; the process has one thread.
    assert_eq!(unsafe { unshare(flags) }, 0, "{}", std::io::Error::last_os_error());
    if user != 0 {
        fs::write("/proc/self/setgroups", "deny").unwrap();
        fs::write("/proc/self/uid_map", format!("0 {user} 1")).unwrap();
        fs::write("/proc/self/gid_map", format!("0 {group} 1")).unwrap();
    }
    // What is mounted from here on stays here.
    do_mount(c"none", Path::new("/"), None, REC_PRIVATE, c"");
}

/// A file system in memory, with these options.
pub fn mount_tmpfs(target: &Path, options: &str) {
    do_mount(c"tmpfs", target, Some(c"tmpfs"), 0, &CString::new(options).unwrap());
}

/// One file or directory over another.
pub fn bind(source: &Path, target: &Path) {
    do_mount(&CString::new(source.as_os_str().as_bytes()).unwrap(), target, None, BIND, c"");
}

pub fn remount(target: &Path, flags: c_ulong) {
    do_mount(c"none", target, None, REMOUNT | flags, c"");
}

fn do_mount(
    source: &std::ffi::CStr,
    target: &Path,
    kind: Option<&std::ffi::CStr>,
    flags: c_ulong,
    data: &std::ffi::CStr,
) {
    let target = CString::new(target.as_os_str().as_bytes()).unwrap();
    let kind = kind.map_or(null(), |kind| kind.as_ptr());
    // SAFETY: all strings end in NUL, and live as long as the call.
    let result = unsafe { mount(source.as_ptr(), target.as_ptr(), kind, flags, data.as_ptr().cast()) };
    assert_eq!(result, 0, "{target:?}: {}", std::io::Error::last_os_error());
}
