//! Where trust is looked for: one token for each place.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What p11-kit is built with on Fedora and Red Hat, SUSE, Arch; and Debian, Alpine and others. The first row of which
/// anything is there is taken.
const USUAL: [&[&str]; 4] = [
    &["/etc/pki/ca-trust/source", "/usr/share/pki/ca-trust-source"],
    &["/etc/pki/trust", "/usr/share/pki/trust"],
    &["/etc/ca-certificates/trust-source", "/usr/share/ca-certificates/trust-source"],
    &["/etc/ssl/certs/ca-certificates.crt"],
];

/// The names of p11-kit's tokens (trust/module.c): programs find tokens by these. Each is given once.
const LABELS: [(&str, &str); 3] = [("~/", "User Trust"), ("/usr/share", "Default Trust"), ("/etc", "System Trust")];

/// A place, and the name of its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub label: String,
}

/// The places of a list of paths with colons between them, or else of `WINDLASS_TRUST_PATHS`, or else the usual ones.
pub fn places(argument: Option<&[u8]>) -> Vec<Place> {
    if let Some(paths) = argument {
        return named(paths);
    }
    match environment(c"WINDLASS_TRUST_PATHS") {
        Some(paths) if !paths.is_empty() => named(paths.as_bytes()),
        _ => {
            let there = |row: &&&[&str]| row.iter().any(|path| Path::new(path).exists());
            let row = USUAL.iter().find(there).or(USUAL.last()).copied().unwrap_or_default();
            named(row.join(":").as_bytes())
        }
    }
}

/// A variable of the environment; nothing under secure execution, where it may be somebody else's.
pub fn environment(name: &CStr) -> Option<&'static OsStr> {
    // SAFETY: getauxval has no preconditions.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: NUL-terminated name. Each value is copied before the call ends; it is the program's duty not to change the
    // environment while another thread reads it.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a value of the environment is NUL-terminated.
    (!value.is_null()).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(value) }.to_bytes()))
}

fn named(paths: &[u8]) -> Vec<Place> {
    let mut free = LABELS.map(Some);
    let paths = paths.split(|byte| *byte == b':').filter(|path| !path.is_empty());
    paths
        .map(|path| {
            let mut claims = free.iter_mut();
            let claim = claims.find(|label| label.is_some_and(|(prefix, _)| path.starts_with(prefix.as_bytes())));
            let label = match claim.and_then(Option::take) {
                Some((_, label)) => label.to_owned(),
                None => base_name(path),
            };
            Place { path: expanded(path), label }
        })
        .collect()
}

fn base_name(path: &[u8]) -> String {
    let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn expanded(path: &[u8]) -> PathBuf {
    let below_home = path.strip_prefix(b"~/").and_then(|rest| Some((environment(c"HOME")?, rest)));
    match below_home {
        Some((home, rest)) => Path::new(home).join(OsStr::from_bytes(rest)),
        None => PathBuf::from(OsStr::from_bytes(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_as_p11_kit_gives_them() {
        let labels = |paths: &str| named(paths.as_bytes()).into_iter().map(|place| place.label).collect::<Vec<_>>();
        assert_eq!(labels("/etc/a:/usr/share/b:/etc/c"), ["System Trust", "Default Trust", "c"]);
        assert_eq!(labels("::/srv/roots.pem/"), ["roots.pem"]);
        assert!(labels("").is_empty());
    }
}
