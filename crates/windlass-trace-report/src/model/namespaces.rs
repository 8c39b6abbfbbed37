//! Processes of several pid namespaces, where process ids repeat.

use std::collections::HashMap;

/// No process of Linux has a larger number (PID_MAX_LIMIT is 2^22).
const FIRST: u32 = 1 << 23;
const MAX: usize = 100_000;

/// Gives each process a number of its own. Processes of the first namespace, which is the program's, keep their id.
#[derive(Debug, Default)]
pub struct Namespaces {
    first: Option<u64>,
    others: Vec<u32>,
    numbers: HashMap<(u64, u32), u32>,
}

impl Namespaces {
    /// The number for a process with the id `pid` in its namespace. Beyond a limit, namespaces are no longer
    /// distinguished.
    pub fn number(&mut self, namespace: Option<u64>, pid: u32) -> u32 {
        let Some(namespace) = namespace else {
            return pid;
        };
        if *self.first.get_or_insert(namespace) == namespace {
            return pid;
        }
        if let Some(number) = self.numbers.get(&(namespace, pid)) {
            return *number;
        }
        if self.others.len() >= MAX {
            return pid;
        }
        let number = FIRST + self.others.len() as u32;
        self.others.push(pid);
        self.numbers.insert((namespace, pid), number);
        number
    }

    /// The id that the process with this number has in its own namespace.
    pub fn pid(&self, number: u32) -> u32 {
        let other = number.checked_sub(FIRST).and_then(|place| self.others.get(place as usize));
        other.copied().unwrap_or(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{load, trace};

    #[test]
    fn equal_numbers_of_two_namespaces_are_two_processes() {
        let of = |namespace: u32| load(7, 7, 0, &format!(r#","ns":{namespace}"#));
        let trace = trace(&[of(1), of(2), of(2), load(7, 7, 0, "")]);
        let seen: Vec<_> =
            trace.processes.all().iter().map(|process| (trace.namespaces.pid(process.pid), process.loads)).collect();
        assert_eq!(seen, [(7, 2), (7, 2)]);
    }
}
