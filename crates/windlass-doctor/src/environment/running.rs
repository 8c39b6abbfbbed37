//! The environments with which running processes were started.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Origin, Settings};
use crate::check::{Outcome, Unseen};

/// More than a process can be started with on most systems.
const MAX_ENVIRONMENT: u64 = 4 << 20;

/// Reads all processes that this user may inspect. Processes in containers have paths of their own, and are skipped.
pub fn collect(settings: &mut Settings, outcome: &mut Outcome) {
    let own = std::fs::read_link("/proc/self/ns/mnt").ok();
    let mut refused = false;
    // By user: each user may start any number of processes.
    for of_user in processes().chunk_by(|(one, _), (other, _)| one == other) {
        let Some((user, _)) = of_user.first() else { continue };
        settings.begin(Origin::Processes(*user));
        for (_, pid) in of_user {
            let process = Path::new("/proc").join(pid.to_string());
            let Ok(environment) = File::open(process.join("environ")) else {
                // The process may also have ended.
                refused |= process.exists();
                continue;
            };
            let mut bytes = Vec::new();
            if environment.take(MAX_ENVIRONMENT).read_to_end(&mut bytes).is_err() || bytes.is_empty() {
                continue;
            }
            if own.is_none() || std::fs::read_link(process.join("ns/mnt")).ok() != own || !has_our_root(&process) {
                continue;
            }
            settings.seen_at = process.join("environ");
            for pair in bytes.split(|byte| *byte == 0) {
                if let Some(place) = pair.iter().position(|byte| *byte == b'=') {
                    settings.add(&pair[..place], &pair[place + 1..], || described(*pid, &process), None);
                }
            }
        }
        settings.end(Path::new("/proc"), outcome);
    }
    if refused && !rustix::process::geteuid().is_root() {
        outcome.not_seen(Unseen {
            needs_root: true,
            ..Unseen::new(Path::new("/proc"), "environments of other users' processes")
        });
    }
}

/// All other processes, with their users' ids, sorted by user.
fn processes() -> Vec<(u32, u32)> {
    let entries = Path::new("/proc").read_dir().into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = pids.filter(|pid| *pid != std::process::id());
    let mut all: Vec<_> = others.filter_map(|pid| Some((user(pid)?, pid))).collect();
    all.sort_unstable();
    all
}

/// The real user of a process: /proc shows root as the owner of a process that may not be dumped.
fn user(pid: u32) -> Option<u32> {
    let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
    std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// Whether it is not in a chroot.
fn has_our_root(process: &Path) -> bool {
    std::fs::read_link(process.join("root")).is_ok_and(|root| root == Path::new("/"))
}

/// `process 12 (nginx)`.
fn described(pid: u32, process: &Path) -> String {
    let executable = std::fs::read_link(process.join("exe")).unwrap_or_else(|_| PathBuf::from("?"));
    format!("process {pid} ({})", executable.file_name().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_those_that_proc_names() {
        assert_eq!(user(std::process::id()), Some(rustix::process::getuid().as_raw()));
        assert_eq!(user(u32::MAX), None);
        let all = processes();
        assert!(all.is_sorted() && all.iter().all(|(_, pid)| *pid != std::process::id()));
    }
}
