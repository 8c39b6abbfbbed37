//! Captures of processes that wait to be searched. A search takes a while, and no other thread waits for it.

use windlass_machine::processes::{Capture, Executables, ProcessFacts, Served, Unseen};

use super::who::Who;

/// As many captures as there can be rows.
const MOST: usize = super::ledger::ROWS;
/// The most executables held open for a search.
const OPEN: usize = 128;

/// Captures, each with its process.
pub type Captures = Vec<(Who, Capture)>;

/// Captures that wait to be searched.
#[derive(Debug, Default)]
pub struct Pending(Captures);

impl Pending {
    /// Adds a capture, replacing an earlier one of that process.
    pub fn add(&mut self, who: &Who, mut capture: Capture) {
        self.0.retain(|(known, _)| known != who);
        if self.0.len() >= OPEN {
            capture.let_go();
        }
        if self.0.len() < MOST {
            self.0.push((who.clone(), capture));
        }
    }

    /// Takes all waiting captures.
    pub fn take(&mut self) -> Captures {
        std::mem::take(&mut self.0)
    }

    /// Returns the captures that could not be searched this time.
    pub fn put_back(&mut self, rest: Captures) {
        for (who, capture) in rest {
            if self.0.len() < MOST && self.0.iter().all(|(known, _)| *known != who) {
                self.0.push((who, capture));
            }
        }
    }
}

/// Searches the captured executables as far as the budget goes; also returns the captures left for the next time.
pub fn look_into(captures: Captures, executables: &mut Executables) -> (Vec<(Who, ProcessFacts)>, Captures) {
    let mut learned = Vec::new();
    let mut captures = captures.into_iter();
    while let Some((who, capture)) = captures.next() {
        let facts = capture.facts(executables);
        // The first one had the whole budget: a larger executable gets no second try.
        if !learned.is_empty() && executables.is_spent() && facts.windlass == Served::Unknown(Unseen::Unread) {
            return (learned, std::iter::once((who, capture)).chain(captures).collect());
        }
        learned.push((who, facts));
    }
    (learned, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    use windlass_machine::processes::Budget;

    #[test]
    fn what_the_budget_does_not_reach_is_looked_at_the_next_time() {
        let (stdin, stdout) = (Stdio::piped(), Stdio::piped());
        let mut cat = Command::new("cat").stdin(stdin).stdout(stdout).spawn().unwrap();
        // An answer shows that the program has been loaded completely.
        cat.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let capture = |pid| {
            let who = Who::Process { pid, start_time: 1, exe: None };
            (who, Capture::of(cat.id()).unwrap())
        };
        let mut executables = Executables::with(Budget::of_bytes(1));
        let (learned, rest) = look_into((1..=3).map(capture).collect(), &mut executables);
        assert_eq!((learned.len(), rest.len()), (1, 2), "{learned:?}");
        let mut pending = Pending::default();
        pending.put_back(rest);
        executables.refill(Budget::default());
        let (learned, rest) = look_into(pending.take(), &mut executables);
        assert_eq!((learned.len(), rest.len()), (2, 0));
        assert!(learned.iter().all(|(_, facts)| facts.windlass != Served::Unknown(Unseen::Unread)));
        drop(cat.stdin.take());
        cat.wait().unwrap();
    }
}
