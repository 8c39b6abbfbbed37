//! Where compiled stores are looked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The machine's own, which `windlass compile` fills when root runs it.
pub const SYSTEM_DIRECTORY: &str = "/var/cache/windlass";

/// Directories in which compiled stores are looked for, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    /// For whoever runs the process.
    named: Vec<PathBuf>,
    /// Not for root: the variables that lead there may be somebody else's (`sudo -E`, `su`).
    user: Option<PathBuf>,
}

impl Directories {
    /// Nowhere: every source is read and indexed.
    pub fn none() -> Directories {
        Directories::default()
    }

    /// This one only.
    pub fn only(directory: PathBuf) -> Directories {
        Directories { named: vec![directory], user: None }
    }

    /// `WINDLASS_STORE` alone if it is set (nowhere if it is empty); else the machine's, then, unless the effective user is
    /// root, the user's: `windlass` in `XDG_CACHE_HOME`, by default `.cache` in `HOME`. Relative paths count as not set, as
    /// the XDG specification demands.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Directories {
        let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        if let Some(only) = variable("WINDLASS_STORE") {
            return Directories { named: absolute(only).into_iter().collect(), user: None };
        }
        let cache = variable("XDG_CACHE_HOME").and_then(absolute);
        let cache = cache.or_else(|| Some(absolute(variable("HOME")?)?.join(".cache")));
        let user = cache.map(|cache| cache.join("windlass"));
        Directories { named: vec![PathBuf::from(SYSTEM_DIRECTORY)], user }
    }

    /// As they are for a process whose effective user was once looked at: [`Directories::iter`] does not ask again.
    pub fn of_user(self, is_root: bool) -> Directories {
        let user = self.user.filter(|_| !is_root);
        Directories { named: self.named.into_iter().chain(user).collect(), user: None }
    }

    /// In the order in which they are looked at by the effective user of this moment.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        let user = self.user.as_deref().filter(|_| !rustix::process::geteuid().is_root());
        self.named.iter().map(PathBuf::as_path).chain(user)
    }
}

impl FromIterator<PathBuf> for Directories {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(directories: I) -> Directories {
        Directories { named: directories.into_iter().collect(), user: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an ordinary user has them.
    fn directories(variables: &[(&str, &str)]) -> Vec<PathBuf> {
        let find = |name: &str| Some(variables.iter().find(|(other, _)| *other == name)?.1.into());
        let all = Directories::from_environment(find);
        let seen_by_root = rustix::process::geteuid().is_root();
        assert_eq!(all.iter().count(), all.named.len() + usize::from(all.user.is_some() && !seen_by_root));
        all.named.into_iter().chain(all.user).collect()
    }

    fn paths(all: &[&str]) -> Vec<PathBuf> {
        all.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_user_that_is_known_is_not_asked_for() {
        let all = || Directories { named: paths(&["/m"]), user: Some(PathBuf::from("/u")) };
        assert_eq!(all().of_user(true), Directories::only(PathBuf::from("/m")));
        assert_eq!(all().of_user(false), paths(&["/m", "/u"]).into_iter().collect());
    }

    #[test]
    fn order() {
        assert_eq!(directories(&[]), paths(&[SYSTEM_DIRECTORY]));
        assert_eq!(directories(&[("HOME", "/h")]), paths(&[SYSTEM_DIRECTORY, "/h/.cache/windlass"]));
        let both = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x")];
        assert_eq!(directories(&both), paths(&[SYSTEM_DIRECTORY, "/x/windlass"]));
        let relative = [("HOME", "/h"), ("XDG_CACHE_HOME", "x")];
        assert_eq!(directories(&relative), paths(&[SYSTEM_DIRECTORY, "/h/.cache/windlass"]));
        assert_eq!(directories(&[("HOME", "/h"), ("WINDLASS_STORE", "/s")]), paths(&["/s"]));
        assert_eq!(directories(&[("HOME", "/h"), ("WINDLASS_STORE", "")]), paths(&[]));
        assert_eq!(directories(&[("HOME", "/h"), ("WINDLASS_STORE", "s")]), paths(&[]));
    }
}
