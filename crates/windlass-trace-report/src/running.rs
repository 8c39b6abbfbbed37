//! The running programs of the machine: a process that outlives the traced program has not ended.

use std::collections::HashMap;

/// The most processes that are read.
const MAX: usize = 100_000;

/// The executable of every process that this user may inspect.
pub fn programs() -> HashMap<u32, String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten().take(MAX);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let program = |pid: u32| {
        // A zombie has no executable.
        let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let path = path.to_string_lossy();
        Some((pid, path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned()))
    };
    numbers.filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_process_runs() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(super::programs().get(&std::process::id()).map(String::as_str), own.to_str());
    }
}
