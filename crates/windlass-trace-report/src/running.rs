//! What runs on the machine: a process that outlives the program has not ended, it is only not waited for.

use std::collections::HashMap;

/// Beyond this nobody is looked at.
const MAX: usize = 100_000;

/// The executable of every process that lets itself be asked.
pub fn programs() -> HashMap<u32, String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten().take(MAX);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let program = |pid: u32| {
        // Of a zombie there is none.
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
