//! The variables that tell programs about files of CA certificates.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::base::Base;
use super::folder::Folder;
use super::report::AddCa;
use crate::environment::Environment;

/// A variable and its kind on each line; the file explains the kinds.
const TABLE: &str = include_str!("variables.txt");

/// The table's variables. One that replaces a program's trust gets the machine's trust, or what it named before, plus
/// the added certificates.
fn variables() -> impl Iterator<Item = (&'static str, Unset)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, kind) = line.split_once(' ')?;
        let unset = match kind {
            "replaces" => Unset::Machine,
            "replaces-where-set" => Unset::Leave,
            "adds" => Unset::Added,
            _ => return None,
        };
        Some((name, unset))
    })
}

/// Sets the variables, and writes the files that they name.
pub fn set(
    environment: &mut Environment,
    folder: &Folder,
    added_path: &Path,
    added: &[String],
    report: &mut AddCa,
) -> io::Result<()> {
    let mut bundles = Bundles { folder, added, known: BTreeMap::new() };
    for (name, unset) in variables() {
        // Programs treat an empty value as unset, except OpenSSL (see below).
        let present = environment.value(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = match (present, unset) {
            (None, Unset::Leave) => continue,
            (None, Unset::Added) => added_path.to_owned(),
            // An empty value says that there should be no file, and keeps that meaning.
            (None, Unset::Machine) if environment.value(name).is_some() => bundles.of_nothing()?,
            (None, Unset::Machine) => bundles.of_machine()?,
            (Some(present), _) => match bundles.of(&present)? {
                Ok(path) => path,
                Err(error) => {
                    report.left(name, &format!("it names {}: {error}", present.display()));
                    continue;
                }
            },
        };
        report.variable(name, &path);
        environment.set(name, path.into_os_string());
    }
    Ok(())
}

/// The trust of a program without the variable.
#[derive(Clone, Copy)]
enum Unset {
    Machine,
    Added,
    Leave,
}

/// One file for each base.
struct Bundles<'a> {
    folder: &'a Folder,
    added: &'a [String],
    known: BTreeMap<Option<PathBuf>, PathBuf>,
}

impl Bundles<'_> {
    fn of_machine(&mut self) -> io::Result<PathBuf> {
        match self.known.get(&None) {
            Some(path) => Ok(path.clone()),
            None => self.write(None, &Base::of_machine()),
        }
    }

    fn of_nothing(&mut self) -> io::Result<PathBuf> {
        Ok(self.folder.path().join(super::ADDED))
    }

    /// The inner error is from reading the base.
    fn of(&mut self, base: &Path) -> io::Result<io::Result<PathBuf>> {
        if let Some(path) = self.known.get(&Some(base.to_owned())) {
            return Ok(Ok(path.clone()));
        }
        match Base::at(base) {
            Ok(content) => self.write(Some(base.to_owned()), &content).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn write(&mut self, key: Option<PathBuf>, base: &Base) -> io::Result<PathBuf> {
        let name = match self.known.len() {
            0 => String::from("bundle.pem"),
            number => format!("bundle-{}.pem", number + 1),
        };
        let path = self.folder.write(&name, &base.with(self.added), base.mode)?;
        self.known.insert(key, path.clone());
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_a_variable_of_a_known_kind() {
        let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(variables().count(), lines);
        assert!(
            variables().all(|(name, _)| name.bytes().all(|byte| byte.is_ascii_uppercase() || b"_2".contains(&byte)))
        );
        let mut all: Vec<_> = variables().map(|(name, _)| name).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), lines);
    }
}
