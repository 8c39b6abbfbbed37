//! Records of changes: a JSON file that only its owner can write, replaced atomically.

use std::ffi::OsStr;
use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use windlass_machine::Failure;

use super::changes::Attributes;
use super::directory::Directory;
use super::trust;

/// A larger number means a change that readers must know about.
const SCHEMA: u32 = 1;
/// In bytes. A hundred thousand entries take less.
const MAX_RECORD: u64 = 256 << 20;

#[derive(Serialize)]
struct Written<'a, T> {
    schema: u32,
    #[serde(flatten)]
    record: &'a T,
}

#[derive(Deserialize)]
struct Head {
    schema: u32,
}

/// Writes a record atomically, and to the disk.
pub fn write(directory: &Directory, name: &str, record: &impl Serialize, mode: u32) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(&Written { schema: SCHEMA, record })?;
    text.push(b'\n');
    directory.write(OsStr::new(name), &text, Attributes::Own(mode))
}

/// Reads a record; None if there is none. Another user's record is not believed. `objection` names anything in it that
/// a record of Windlass would not hold.
pub fn read<T: DeserializeOwned>(
    directory: &Directory,
    name: &str,
    objection: impl Fn(&T) -> Option<String>,
) -> Result<Option<T>, Failure> {
    let path = directory.path.join(name);
    let failed = |why: &dyn std::fmt::Display| Failure::other(format!("the record {}", path.display()), why);
    let bytes = match directory.look(OsStr::new(name), MAX_RECORD) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
        Ok(None) => return Err(failed(&"not a regular file, or too large")),
        Ok(Some((seen, _))) if seen.target.is_some() => return Err(trust::refused(&path, trust::NO_FILE)),
        Ok(Some((seen, bytes))) => match trust::objection(seen.uid, seen.mode) {
            Some(why) => return Err(trust::refused(&path, why)),
            None => bytes,
        },
    };
    let damaged = |error: serde_json::Error| failed(&error).advise("it is damaged: restore it from a backup");
    let Head { schema } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if schema != SCHEMA {
        let why = format!("written by another version of windlass (schema {schema}, not {SCHEMA})");
        return Err(failed(&why).advise("use that version to undo it"));
    }
    let record = serde_json::from_slice(&bytes).map_err(damaged)?;
    match objection(&record) {
        None => Ok(Some(record)),
        Some(why) => Err(failed(&why)
            .advise("somebody has edited it: nothing of it was done; undo by hand what windlass really did")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(&place.path().canonicalize().unwrap()).unwrap();
        let read = || super::read(&directory, "record", |names: &Names| (names.names.len() > 1).then(|| "two".into()));
        assert!(read().unwrap().is_none());
        for (text, expected) in [
            (r#"{"schema": 2, "changes": 3}"#, "another version of windlass (schema 2, not 1)"),
            (r#"{"schema": 1, "names": 3}"#, "it is damaged"),
            (r#"{"schema": 1, "names": ["a", "b"]}"#, "two\n  help: somebody has edited it"),
        ] {
            std::fs::write(place.path().join("record"), text).unwrap();
            let said = read().unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        write(&directory, "record", &Names { names: vec!["a".into()] }, 0o644).unwrap();
        assert_eq!(read().unwrap().unwrap().names, ["a"]);
        std::fs::rename(place.path().join("record"), place.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", place.path().join("record")).unwrap();
        assert!(read().unwrap_err().to_string().contains("not believed"));
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Names {
        names: Vec<String>,
    }
}
