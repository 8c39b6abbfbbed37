//! Bounded reads of `/proc/PID` (proc(5)).

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// The ids of all current processes, sorted.
pub fn pids() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// The path of a file of a process.
pub fn path(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

/// At most `limit` bytes of a file of a process.
pub fn read(pid: u32, name: &str, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path(pid, name))?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first fields of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kernel's name for the program, at most 15 bytes. The process can change it.
    pub comm: String,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// Whether it is a kernel thread.
    pub is_kernel_thread: bool,
}

impl Stat {
    /// Reads the fields. `None`: there is no such process.
    pub fn read(pid: u32) -> Option<Stat> {
        Self::parse(&read(pid, "stat", 4096).ok()?)
    }

    /// The name may contain blanks, brackets and line ends: it ends at the last bracket.
    fn parse(stat: &[u8]) -> Option<Stat> {
        /// include/linux/sched.h; visible in every kernel since the first git commit.
        const PF_KTHREAD: u64 = 0x0020_0000;
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let comm = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
        // The first field here is the third of proc(5): state; flags is the ninth, starttime the twenty-second.
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        let flags: u64 = fields.get(9 - 3)?.parse().ok()?;
        let start_time = fields.get(22 - 3)?.parse().ok()?;
        Some(Stat { comm, start_time, is_kernel_thread: flags & PF_KTHREAD != 0 })
    }
}

/// The effective user of a process: the second number of `Uid:` in `/proc/PID/status`.
pub fn uid(pid: u32) -> Option<u32> {
    let status = read(pid, "status", 16 << 10).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The arguments of a process, up to 4 KiB.
pub fn arguments(pid: u32) -> Vec<String> {
    let bytes = read(pid, "cmdline", 4096).unwrap_or_default();
    // A process that overwrites its arguments (setproctitle) often leaves zeros at the end.
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let words = bytes[..end].split(|byte| *byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).filter(|_| end > 0).collect()
}

/// Whether the kernel started the program in secure execution (getauxval(3), AT_SECURE); `None` if it can't be read.
pub fn is_secure(pid: u32) -> Option<bool> {
    const AT_SECURE: usize = 23;
    let auxiliary = read(pid, "auxv", 4096).ok()?;
    // Pairs of words, of the kernel's size or, from newer 64-bit kernels for 32-bit processes, of the process's
    // (fs/proc/base.c). If their size is not ours, no key is found.
    let word = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).ok();
    let pairs = auxiliary.chunks_exact(2 * size_of::<usize>());
    let mut pairs = pairs.filter_map(|pair| {
        let (key, value) = pair.split_at(size_of::<usize>());
        Some((word(key)?, word(value)?))
    });
    pairs.find(|(key, _)| *key == AT_SECURE).map(|(_, value)| value != 0)
}

/// The value of a variable in the environment that a process was started with.
pub fn variable(pid: u32, name: &str) -> Option<Vec<u8>> {
    let environment = read(pid, "environ", 1 << 20).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_hold_anything() {
        let stat = b"7 (a) R 1 (\n) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2 3";
        let found = Stat::parse(stat).unwrap();
        assert_eq!((found.comm.as_str(), found.start_time, found.is_kernel_thread), ("a) R 1 (\n", 4242, false));
    }

    #[test]
    fn damage_is_nothing() {
        for stat in [
            &b""[..],
            b"7",
            b"7 (a",
            b"7 )a(",
            b"7 (a) S",
            b"7 (a) S 1 7 7 0 -1 x 1 2 3 4 5 6 7 8 20 0 1 0 4242",
            b"\xff(\xff)\xff",
        ] {
            assert_eq!(Stat::parse(stat), None);
        }
    }

    #[test]
    fn this_process_is_there() {
        let own = std::process::id();
        assert!(pids().contains(&own));
        assert!(!Stat::read(own).unwrap().is_kernel_thread);
        assert_eq!(uid(own), Some(rustix::process::geteuid().as_raw()));
        assert!(!arguments(own).is_empty());
        assert_eq!(is_secure(own), Some(false));
        assert_eq!(
            variable(own, "PATH").as_deref(),
            std::env::var_os("PATH").as_ref().map(|path| path.as_encoded_bytes())
        );
    }
}
