//! The directories in which compiled stores are looked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The machine's own directory, which `windlass compile` fills when root runs it.
pub const SYSTEM_DIRECTORY: &str = "/var/cache/windlass";

/// Directories in which compiled stores are looked for, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories(Vec<PathBuf>);

impl Directories {
    /// No directory: every source is read and indexed.
    pub fn none() -> Directories {
        Directories::default()
    }

    /// This directory only.
    pub fn only(directory: PathBuf) -> Directories {
        Directories(vec![directory])
    }

    /// `WINDLASS_STORE` alone if it is set (nothing if it is empty or a relative path); otherwise the machine's
    /// directory. No directory is found through HOME or similar variables: a compiled store vouches for its source, and
    /// many programs write to caches (builds, restores, synchronisation).
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Directories {
        match variable("WINDLASS_STORE").map(PathBuf::from) {
            Some(only) => Directories(Some(only).filter(|path| path.is_absolute()).into_iter().collect()),
            None => Directories::only(PathBuf::from(SYSTEM_DIRECTORY)),
        }
    }

    /// The directories, in search order.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }
}

impl FromIterator<PathBuf> for Directories {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(directories: I) -> Directories {
        Directories(directories.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_machines_or_the_one_that_is_named() {
        let directories = |variables: &[(&str, &str)]| {
            let find = |name: &str| Some(variables.iter().find(|(other, _)| *other == name)?.1.into());
            Directories::from_environment(find).0
        };
        let machines = [PathBuf::from(SYSTEM_DIRECTORY)];
        assert_eq!(directories(&[]), machines);
        assert_eq!(directories(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), machines);
        assert_eq!(directories(&[("HOME", "/h"), ("WINDLASS_STORE", "/s")]), [PathBuf::from("/s")]);
        assert_eq!(directories(&[("WINDLASS_STORE", "")]), [] as [PathBuf; 0]);
        assert_eq!(directories(&[("WINDLASS_STORE", "s")]), [] as [PathBuf; 0]);
    }
}
