//! What was taken of processes, until somebody looks into it. That takes a while, and nobody else waits for it.

use windlass_machine::processes::{Capture, Executables, ProcessFacts, Served, Unseen};

use super::who::Who;

/// As many as have a row of their own.
const MOST: usize = super::ledger::ROWS;
/// Executables that are held open until somebody looks into them.
const OPEN: usize = 128;

/// What was taken of each of some processes.
pub type Captures = Vec<(Who, Capture)>;

/// Captures that nobody has taken yet.
#[derive(Debug, Default)]
pub struct Pending(Captures);

impl Pending {
    /// One more, in place of what was taken of that process before.
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

    /// What could not be looked into this time.
    pub fn put_back(&mut self, rest: Captures) {
        for (who, capture) in rest {
            if self.0.len() < MOST && self.0.iter().all(|(known, _)| *known != who) {
                self.0.push((who, capture));
            }
        }
    }
}

/// Looks into what is pending, as far as the budget goes; gives also what is left for the next time.
pub fn look_into(captures: Captures, executables: &mut Executables) -> (Vec<(Who, ProcessFacts)>, Captures) {
    let mut learned = Vec::new();
    let mut captures = captures.into_iter();
    while let Some((who, capture)) = captures.next() {
        let facts = capture.facts(executables);
        // The first had all of the budget: for what is larger than that there is no next time.
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
        // When it answers it is there as a whole.
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
