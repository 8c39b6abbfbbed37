//! The places where trust is searched: one token for each.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use windlass_trust::USUAL_PLACES;

/// The names of p11-kit's tokens (trust/module.c): programs find tokens by these. Each name is used once.
const LABELS: [(&str, &str); 3] = [("~/", "User Trust"), ("/usr/share", "Default Trust"), ("/etc", "System Trust")];

/// A place, and the name of its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub label: String,
}

/// The places of a colon-separated list of paths, else of `WINDLASS_TRUST_PATHS`, else the usual ones.
pub fn places(argument: Option<&[u8]>) -> Vec<Place> {
    if let Some(paths) = argument {
        return named(paths, &Process::new());
    }
    match environment(c"WINDLASS_TRUST_PATHS") {
        Some(paths) if !paths.is_empty() => named(paths.as_bytes(), &Process::new()),
        _ => {
            let there = |row: &&&[&str]| row.iter().any(|path| Path::new(path).exists());
            let row = USUAL_PLACES.iter().find(there).or(USUAL_PLACES.last()).copied().unwrap_or_default();
            named(row.join(":").as_bytes(), &Process::new())
        }
    }
}

/// An environment variable; None under secure execution, where it may come from another user.
pub fn environment(name: &CStr) -> Option<&'static OsStr> {
    if is_secure() {
        return None;
    }
    // SAFETY: NUL-terminated name. Each value is copied before the call ends; the program must not change the
    // environment while another thread reads it.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: values in the environment are NUL-terminated.
    (!value.is_null()).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(value) }.to_bytes()))
}

/// The process state that paths are resolved with.
#[derive(Default)]
struct Process {
    is_secure: bool,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Process {
    fn new() -> Process {
        let directory = |name| environment(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        Process {
            is_secure: is_secure(),
            home: directory(c"HOME").or_else(|| (!is_secure()).then(home_of_user).flatten()),
            config: directory(c"XDG_CONFIG_HOME"),
        }
    }

    /// The path with the home directory in place of a `~` at its beginning (p11-kit, common/path.c, `expand_homedir`).
    /// None if there is no home, and under secure execution if the user who started the process decides where the path
    /// leads.
    fn expanded(&self, path: &[u8]) -> Option<PathBuf> {
        let below_home = match path {
            b"~" => Some(&[][..]),
            [b'~', b'/', rest @ ..] => Some(rest),
            _ => None,
        };
        let Some(mut rest) = below_home else {
            let path = Path::new(OsStr::from_bytes(path));
            return (path.is_absolute() || !self.is_secure).then(|| path.to_owned());
        };
        if self.is_secure {
            return None;
        }
        while let [b'/', more @ ..] = rest {
            rest = more;
        }
        let (directory, rest) = match rest.strip_prefix(b".config") {
            Some(below @ ([] | [b'/', ..])) if self.config.is_some() => (&self.config, below.get(1..).unwrap_or(&[])),
            _ => (&self.home, rest),
        };
        directory.as_ref().map(|directory| directory.join(OsStr::from_bytes(rest)))
    }
}

fn is_secure() -> bool {
    // SAFETY: getauxval has no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The home directory of the process's user, from the user database.
fn home_of_user() -> Option<PathBuf> {
    let mut buffer = [0; 4096];
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut found = std::ptr::null_mut();
    // SAFETY: getuid has no preconditions; getpwuid_r gets room for an entry and its strings, and for the address of
    // the entry.
    unsafe { libc::getpwuid_r(libc::getuid(), entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &raw mut found) };
    if found.is_null() {
        return None;
    }
    // SAFETY: found points to the entry, which is complete.
    let directory = unsafe { (*found).pw_dir };
    if directory.is_null() {
        return None;
    }
    // SAFETY: a string of the entry, in the buffer.
    let directory = unsafe { CStr::from_ptr(directory) }.to_bytes();
    (!directory.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(directory)))
}

fn named(paths: &[u8], process: &Process) -> Vec<Place> {
    let mut free = LABELS.map(Some);
    let paths = paths.split(|byte| *byte == b':').filter(|path| !path.is_empty());
    paths
        .filter_map(|path| {
            let mut claims = free.iter_mut();
            let claim = claims.find(|label| label.is_some_and(|(prefix, _)| path.starts_with(prefix.as_bytes())));
            let label = match claim.and_then(Option::take) {
                Some((_, label)) => label.to_owned(),
                None => base_name(path),
            };
            Some(Place { path: process.expanded(path)?, label })
        })
        .collect()
}

fn base_name(path: &[u8]) -> String {
    let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_as_p11_kit_gives_them() {
        let process = Process::default();
        let labels =
            |paths: &str| named(paths.as_bytes(), &process).into_iter().map(|place| place.label).collect::<Vec<_>>();
        assert_eq!(labels("/etc/a:/usr/share/b:/etc/c"), ["System Trust", "Default Trust", "c"]);
        assert_eq!(labels("::/srv/roots.pem/"), ["roots.pem"]);
        assert!(labels("").is_empty());
    }

    #[test]
    fn a_home_where_there_is_one() {
        let home = Some(PathBuf::from("/home/me"));
        let own = Process { home: home.clone(), ..Process::default() };
        let with_config = Process { config: Some("/config".into()), home: home.clone(), is_secure: false };
        let secure = Process { is_secure: true, home, ..Process::default() };
        let paths = "~/trust:~//a:~/.config:~/.config/b:~/.configs:~:~you/c:d:/e";
        let of = |process: &Process| -> Vec<PathBuf> {
            named(paths.as_bytes(), process).into_iter().map(|place| place.path).collect()
        };
        let below_home =
            ["/home/me/trust", "/home/me/a", "/home/me/.config", "/home/me/.config/b", "/home/me/.configs"];
        let all = [&below_home[..], &["/home/me", "~you/c", "d", "/e"]].concat();
        assert_eq!(of(&own), all.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&with_config)[2..5], ["/config", "/config/b", "/home/me/.configs"].map(PathBuf::from));
        assert_eq!(of(&secure), [PathBuf::from("/e")]);
        assert_eq!(of(&Process::default()), ["~you/c", "d", "/e"].map(PathBuf::from));
    }
}
