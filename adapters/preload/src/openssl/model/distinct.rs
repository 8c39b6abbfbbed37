//! Certificates of one subject, each once.

use std::collections::HashSet;

/// There is one nearly always, and hashing it would be a quarter of what a lookup costs.
#[derive(Default)]
pub struct Distinct<'a> {
    few: Vec<&'a [u8]>,
    many: HashSet<&'a [u8]>,
}

impl<'a> Distinct<'a> {
    /// More are not compared one by one.
    const FEW: usize = 16;

    /// Whether it is new.
    pub fn insert(&mut self, der: &'a [u8]) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(der);
        }
        if self.few.contains(&der) {
            return false;
        }
        self.few.push(der);
        if self.few.len() > Self::FEW {
            self.many.extend(self.few.drain(..));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;

    #[test]
    fn each_is_new_once_however_many_there_are() {
        let names: Vec<[u8; 2]> = (0..100_u8).map(|number| [number, number / 7]).collect();
        let mut distinct = Distinct::default();
        for (at, name) in names.iter().enumerate() {
            assert!(distinct.insert(name), "{at} is new");
            assert!(!distinct.insert(name) && !distinct.insert(&names[at / 2]), "{at} again");
        }
    }
}
