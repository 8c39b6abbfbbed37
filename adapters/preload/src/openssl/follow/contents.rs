//! The state machine of following: contents and observations in, contents out.
//!
//! *A store trusts what a process started now would trust; of a source that it could not look at, what it trusted at
//! the last look.* Nothing else decides: there is no memory of earlier contents, so what left a source comes back only
//! when the source is seen with it.

/// What a look at one source has found.
pub enum Observation<C> {
    /// Its content, which may be that there is nothing.
    Seen(C),
    /// Nothing that says anything of the source: no descriptor, no memory, no right, another root directory.
    NotSeen,
}

/// The content of a source.
pub trait Content: Clone {
    /// Whether a content that was seen later is the same.
    fn is_same(&self, later: &Self) -> bool;
}

/// The contents that one look leaves behind. A source without an observation counts as not seen.
pub enum Outcome<C> {
    /// Nothing has changed.
    Same,
    /// At least one source has changed.
    Changed(Vec<C>),
    /// There is no memory to say what: as if nothing had been seen.
    NoMemory,
}

/// One look: each source by itself.
pub fn after<C: Content>(contents: &[C], observations: &[Observation<C>]) -> Outcome<C> {
    let seen = |at: usize| match observations.get(at) {
        Some(Observation::Seen(now)) => Some(now),
        Some(Observation::NotSeen) | None => None,
    };
    if contents.iter().enumerate().all(|(at, last)| seen(at).is_none_or(|now| last.is_same(now))) {
        return Outcome::Same;
    }
    let mut changed = Vec::new();
    if changed.try_reserve_exact(contents.len()).is_err() {
        return Outcome::NoMemory;
    }
    // What is the same stays the very same, with all that was computed of it.
    let next = |(at, last): (usize, &C)| seen(at).filter(|now| !last.is_same(now)).unwrap_or(last).clone();
    changed.extend(contents.iter().enumerate().map(next));
    Outcome::Changed(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Content for u8 {
        fn is_same(&self, later: &u8) -> bool {
            self == later
        }
    }

    const CONTENTS: [u8; 3] = [0, 1, 2];
    /// Every look at one source: each content, and not seen.
    const LOOKS: [Option<u8>; 4] = [Some(0), Some(1), Some(2), None];

    fn observed(look: Option<u8>) -> Observation<u8> {
        look.map_or(Observation::NotSeen, Observation::Seen)
    }

    /// All sequences of four looks at two sources, from all contents at the load, against the sentence above.
    #[test]
    fn each_source_is_what_was_last_seen_of_it() {
        let looks: Vec<[Option<u8>; 2]> = LOOKS.into_iter().flat_map(|one| LOOKS.map(|other| [one, other])).collect();
        let mut tried = 0u32;
        for loaded in CONTENTS.into_iter().flat_map(|one| CONTENTS.map(|other| [one, other])) {
            for number in 0..looks.len().pow(4) {
                let sequence: Vec<[Option<u8>; 2]> =
                    (0..4).map(|at| looks[number / looks.len().pow(at) % looks.len()]).collect();
                let mut contents = loaded.to_vec();
                for length in 1..=sequence.len() {
                    let before = contents.clone();
                    let outcome = after(&contents, &sequence[length - 1].map(observed));
                    let is_changed = matches!(outcome, Outcome::Changed(_));
                    if let Outcome::Changed(next) = outcome {
                        contents = next;
                    }
                    let last = |source: usize| {
                        sequence[..length].iter().rev().find_map(|look| look[source]).unwrap_or(loaded[source])
                    };
                    assert_eq!(contents, [last(0), last(1)], "{loaded:?} {sequence:?} {length}");
                    assert_eq!(is_changed, before != contents);
                    tried += 1;
                }
            }
        }
        assert_eq!(tried, 9 * 16u32.pow(4) * 4);
    }

    #[test]
    fn a_source_that_was_not_looked_at_yet_stays() {
        assert!(matches!(after(&[1, 2], &[Observation::Seen(1)]), Outcome::Same));
        assert!(matches!(after(&[1, 2], &[Observation::Seen(0)]), Outcome::Changed(now) if now == [0, 2]));
        assert!(matches!(after::<u8>(&[], &[]), Outcome::Same));
    }
}
