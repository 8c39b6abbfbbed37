//! A child process, for changes that affect a whole process rather than one thread: privileges, mounts, a violent end.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, Uid, fork, getegid, geteuid, seteuid};

/// A user without any files here.
pub const SOMEBODY: u32 = 4321;

/// A forked process.
pub struct Child(Pid);

impl Child {
    /// Runs `work` in a child.
    pub fn start(work: impl FnOnce()) -> Child {
        // Computed here: the child would wait for ever for a thread that computes it at this moment.
        super::smallest();
        // SAFETY: the child runs `work` and ends; it touches no lock that a thread of the test harness may hold,
        // besides those of the allocator, which the C library sets free in the child.
        match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => Child(child),
            ForkResult::Child => {
                // It must not go on when a test has failed.
                let _ = set_pdeathsig(Signal::SIGKILL);
                let outcome = catch_unwind(AssertUnwindSafe(work));
                // SAFETY: nothing is to be cleaned up in the child.
                unsafe { nix::libc::_exit(i32::from(outcome.is_err())) }
            }
        }
    }

    /// Waits for its end, and fails if it failed.
    #[track_caller]
    pub fn join(self) {
        assert_eq!(waitpid(self.0, None), Ok(WaitStatus::Exited(self.0, 0)), "the child failed");
    }

    /// Kills it at once.
    pub fn kill(self) {
        kill(self.0, Signal::SIGKILL).unwrap();
        let killed = WaitStatus::Signaled(self.0, Signal::SIGKILL, false);
        assert_eq!(waitpid(self.0, None), Ok(killed), "it had ended before");
    }
}

/// Runs `work` in a child, and fails if it fails there.
#[track_caller]
pub fn in_child(work: impl FnOnce()) {
    Child::start(work).join();
}

pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Changes the effective user of this process, a child.
pub fn become_user(user: u32) {
    seteuid(Uid::from_raw(user)).unwrap();
}

/// Gives this process, a child, mounts of its own. In a user namespace of its own anybody may mount.
pub fn own_mounts() {
    let (user, group) = (geteuid(), getegid());
    let flags = if user.is_root() { CloneFlags::empty() } else { CloneFlags::CLONE_NEWUSER };
    unshare(flags | CloneFlags::CLONE_NEWNS).unwrap();
    if !user.is_root() {
        fs::write("/proc/self/setgroups", "deny").unwrap();
        fs::write("/proc/self/uid_map", format!("0 {user} 1")).unwrap();
        fs::write("/proc/self/gid_map", format!("0 {group} 1")).unwrap();
    }
    // What is mounted from here on stays here.
    do_mount(Path::new("none"), Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, "");
}

/// A file system in memory, with these options.
pub fn mount_tmpfs(target: &Path, options: &str) {
    do_mount(Path::new("none"), target, Some("tmpfs"), MsFlags::empty(), options);
}

/// One file or directory over another.
pub fn bind(source: &Path, target: &Path) {
    do_mount(source, target, None, MsFlags::MS_BIND, "");
}

pub fn remount(target: &Path, flags: MsFlags) {
    do_mount(Path::new("none"), target, None, MsFlags::MS_REMOUNT | flags, "");
}

fn do_mount(source: &Path, target: &Path, kind: Option<&str>, flags: MsFlags, data: &str) {
    mount(Some(source), target, kind, flags, Some(data)).unwrap_or_else(|error| panic!("{target:?}: {error}"));
}
