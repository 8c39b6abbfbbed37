//! The certificates of one subject, without duplicates.

use crate::tables::HashSet;

/// Nearly always there is only one certificate, and hashing it would be a quarter of the cost of a lookup.
#[derive(Default)]
pub struct Distinct<'a> {
    few: Vec<&'a [u8]>,
    many: HashSet<&'a [u8]>,
}

impl<'a> Distinct<'a> {
    /// The most certificates that are compared one by one.
    const FEW: usize = 16;

    /// Whether a certificate is new. None if there is no memory for it.
    pub fn insert(&mut self, der: &'a [u8]) -> Option<bool> {
        if !self.many.is_empty() {
            self.many.try_reserve(1).ok()?;
            return Some(self.many.insert(der));
        }
        if self.few.contains(&der) {
            return Some(false);
        }
        self.few.try_reserve(1).ok()?;
        self.few.push(der);
        if self.few.len() > Self::FEW {
            self.many.try_reserve(self.few.len()).ok()?;
            self.many.extend(self.few.drain(..));
        }
        Some(true)
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
            assert_eq!(distinct.insert(name), Some(true), "{at} is new");
            assert_eq!([name, &names[at / 2]].map(|name| distinct.insert(name)), [Some(false); 2], "{at} again");
        }
    }
}
