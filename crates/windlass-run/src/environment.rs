//! The environment that the program gets.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

const LD_PRELOAD: &str = "LD_PRELOAD";

/// This process's environment with the changes that `run` makes.
#[derive(Debug)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// A copy of this process's environment.
    pub fn inherited() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    /// Sets a variable, replacing any earlier value.
    pub fn set(&mut self, name: &str, value: OsString) {
        self.0.retain(|(key, _)| key != name);
        self.0.push((name.into(), value));
    }

    /// Puts `library` in front of LD_PRELOAD, unless it is there already.
    pub fn preload(&mut self, library: &Path) {
        let value = preload_value(library, self.value(LD_PRELOAD));
        self.set(LD_PRELOAD, value);
    }

    /// The form for execve. No entry can hold a NUL: all came from C strings, or are paths that were opened.
    pub(crate) fn to_c(&self) -> Vec<CString> {
        let entry = |(name, value): &(OsString, OsString)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
        };
        self.0.iter().filter_map(entry).collect()
    }
}

/// LD_PRELOAD with `library` added. Names are separated by colons or spaces, without any quoting (ld.so(8)); the
/// earlier value stays byte for byte.
fn preload_value(library: &Path, present: Option<&OsStr>) -> OsString {
    let Some(present) = present.filter(|value| !value.is_empty()) else {
        return library.into();
    };
    let mut names = present.as_bytes().split(|byte| matches!(byte, b':' | b' '));
    if names.any(|name| is_same_file(Path::new(OsStr::from_bytes(name)), library)) {
        return present.to_owned();
    }
    OsString::from_vec([library.as_os_str().as_bytes(), b":", present.as_bytes()].concat())
}

/// Whether an entry names the library, through links too. The loader searches for a name without a slash, but not in
/// the library's directory.
fn is_same_file(entry: &Path, library: &Path) -> bool {
    entry == library
        || (entry.as_os_str().as_bytes().contains(&b'/')
            && matches!((entry.canonicalize(), library.canonicalize()), (Ok(one), Ok(other)) if one == other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(present: &str) -> String {
        preload_value(Path::new("/opt/w.so"), Some(OsStr::new(present))).into_string().unwrap()
    }

    #[test]
    fn the_library_comes_first_and_the_rest_is_kept() {
        assert_eq!(preload_value(Path::new("/opt/w.so"), None), "/opt/w.so");
        assert_eq!(value(""), "/opt/w.so");
        assert_eq!(value("libjemalloc.so.2"), "/opt/w.so:libjemalloc.so.2");
        assert_eq!(value("/a.so /b.so:/c.so"), "/opt/w.so:/a.so /b.so:/c.so");
    }

    #[test]
    fn the_library_is_not_added_twice() {
        for present in ["/opt/w.so", "/a.so:/opt/w.so", "/a.so /opt/w.so", "/opt/w.so:/a.so", " /opt/w.so "] {
            assert_eq!(value(present), present);
        }
        assert_eq!(value("/opt/w.so.1"), "/opt/w.so:/opt/w.so.1");
    }
}
