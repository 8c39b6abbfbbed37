//! The environments with which running processes were started.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::doctor::check::{Outcome, Unseen};

/// More than a process can be started with on most systems.
const MAX_ENVIRONMENT: u64 = 4 << 20;

/// Looks at all processes that this user may look at. Those of containers have paths of their own and are passed over.
pub fn collect(settings: &mut Settings, outcome: &mut Outcome) {
    let own = std::fs::read_link("/proc/self/ns/mnt").ok();
    let mut refused = false;
    for pid in pids() {
        let process = Path::new("/proc").join(pid.to_string());
        if pid == std::process::id() {
            continue;
        }
        let Ok(environment) = File::open(process.join("environ")) else {
            // It may have ended, too.
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
        for pair in bytes.split(|byte| *byte == 0) {
            if let Some(place) = pair.iter().position(|byte| *byte == b'=') {
                settings.add(&pair[..place], &pair[place + 1..], || described(pid, &process), None);
            }
        }
    }
    if refused && !rustix::process::geteuid().is_root() {
        outcome.not_seen(Unseen {
            needs_root: true,
            ..Unseen::new(Path::new("/proc"), "environments of other users' processes")
        });
    }
}

fn pids() -> Vec<u32> {
    let entries = Path::new("/proc").read_dir().into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// It is not in a chroot.
fn has_our_root(process: &Path) -> bool {
    std::fs::read_link(process.join("root")).is_ok_and(|root| root == Path::new("/"))
}

/// `process 12 (nginx)`.
fn described(pid: u32, process: &Path) -> String {
    let executable = std::fs::read_link(process.join("exe")).unwrap_or_else(|_| PathBuf::from("?"));
    format!("process {pid} ({})", executable.file_name().unwrap_or_default().to_string_lossy())
}
