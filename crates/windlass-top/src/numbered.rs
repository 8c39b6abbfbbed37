//! All sources ever seen, each with a permanent number. Users and containers can make many sources, and therefore each
//! owner has a limit.

use std::collections::HashMap;
use std::path::PathBuf;

use super::roots::Namespace;
use super::source::Source;
use super::wanted::Owner;

/// The most sources that one home or one other root directory can have over the whole time: each link with a new target
/// makes one.
const OF_ONE: usize = 1024;
/// The most sources in other root directories, which come and go.
const ELSEWHERE: usize = 50_000;

/// The list. A number is a position in it.
#[derive(Debug, Default)]
pub struct Numbered {
    all: Vec<Source>,
    known: HashMap<(Option<Namespace>, PathBuf), usize>,
    /// The number of sources made for each owner.
    made: HashMap<(Option<Namespace>, Owner), usize>,
    elsewhere: usize,
    has_changed: bool,
}

impl Numbered {
    /// All sources, in the order of their numbers.
    pub fn all(&self) -> &[Source] {
        &self.all
    }

    /// Whether the list has changed since the last call.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// The number of a source, assigned now if it has none. `None`: its owner has too many.
    pub fn number(&mut self, source: Source, owner: Owner) -> Option<usize> {
        let namespace = source.mount_namespace;
        let key = (namespace, source.path.clone());
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let made = self.made.entry((namespace, owner)).or_default();
        let is_full = owner.is_some() && *made >= OF_ONE || namespace.is_some() && self.elsewhere >= ELSEWHERE;
        if is_full {
            return None;
        }
        *made += 1;
        self.elsewhere += usize::from(namespace.is_some());
        self.has_changed = true;
        self.all.push(source);
        self.known.insert(key, self.all.len() - 1);
        Some(self.all.len() - 1)
    }

    /// Sets the current number of files of a directory.
    pub fn set_files(&mut self, number: usize, files: usize) {
        if let Some(source) = self.all.get_mut(number) {
            self.has_changed |= source.files != files;
            source.files = files;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::SourceKind;
    use super::*;

    #[test]
    fn nobody_takes_the_numbers_of_others() {
        let mut numbered = Numbered::default();
        let source = |path: String, mount_namespace| Source {
            path: path.into(),
            kind: SourceKind::File,
            why: String::new(),
            mount_namespace,
            files: 0,
        };
        let mut number = |path: &str, owner| numbered.number(source(path.to_owned(), None), owner);
        assert_eq!((number("/a", None), number("/b", Some(0)), number("/a", Some(0))), (Some(0), Some(1), Some(0)));
        let given = (0..2 * OF_ONE).filter(|at| number(&format!("/h/{at}"), Some(0)).is_some()).count();
        assert_eq!(given, OF_ONE - 1);
        assert!(number("/c", Some(1)).is_some() && number("/d", None).is_some() && number("/e", Some(0)).is_none());
        let elsewhere = numbered.number(source("/a".into(), Some(Namespace(7))), Some(0));
        assert_eq!(elsewhere, Some(numbered.all().len() - 1), "another root directory has another /a");
        assert!(numbered.has_changed() && !numbered.has_changed());
        numbered.set_files(0, 3);
        assert!(numbered.has_changed() && numbered.all()[0].files == 3);
        numbered.set_files(0, 3);
        assert!(!numbered.has_changed());
    }
}
