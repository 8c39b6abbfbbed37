//! Processes out of reach, grouped by reason: a build may start hundreds of them.

use std::collections::BTreeMap;

use super::Process;

/// The most programs listed by name; the others are counted.
const PROGRAMS: usize = 5;

/// The processes that are out of reach for one reason.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreached {
    pub reason: String,
    /// `node (8 processes), app (4711)`.
    pub who: String,
}

/// The groups, largest first.
pub fn by_reason(processes: &[Process]) -> Vec<Unreached> {
    let mut reasons: BTreeMap<&str, BTreeMap<&str, Vec<u32>>> = BTreeMap::new();
    for process in processes {
        if let Some(reason) = &process.out_of_reach {
            reasons.entry(reason).or_default().entry(&process.name).or_default().push(process.pid);
        }
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, programs)| std::cmp::Reverse(programs.values().map(Vec::len).sum::<usize>()));
    reasons.into_iter().map(|(reason, programs)| Unreached { reason: reason.to_owned(), who: who(programs) }).collect()
}

fn who(programs: BTreeMap<&str, Vec<u32>>) -> String {
    let mut programs: Vec<_> = programs.into_iter().collect();
    programs.sort_by_key(|(_, processes)| std::cmp::Reverse(processes.len()));
    let more = programs.len().saturating_sub(PROGRAMS);
    let mut names: Vec<_> = programs
        .into_iter()
        .take(PROGRAMS)
        .map(|(name, processes)| match &processes[..] {
            [pid] => format!("{name} ({pid})"),
            several => format!("{name} ({} processes)", several.len()),
        })
        .collect();
    match more {
        0 => {}
        1 => names.push(String::from("1 other program")),
        _ => names.push(format!("{more} other programs")),
    }
    names.join(", ")
}
