//! What was taken away, and where it is kept: `record.json` in a directory of its own, written before anything is
//! moved.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_machine::{Failure, FailureKind};

use super::believed::{self, is_name, is_plain};
use super::directory::Directory;
use super::plan::Kind;
use super::seen::Seen;

/// Its name in the backup's directory.
pub const FILE_NAME: &str = "record.json";
const NEW: &str = "record.json.new";
const SCHEMA: u32 = 1;
/// A hundred thousand entries take less.
const MAX_RECORD: u64 = 256 << 20;

/// What one `windlass prune` took away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// A larger number means a change that readers must know of.
    pub schema: u32,
    /// When: RFC 3339, UTC.
    pub made: String,
    /// All was done. Else the command was interrupted, and some of it may not have been moved.
    pub finished: bool,
    /// What was taken away, in this order.
    pub entries: Vec<Entry>,
}

/// A file or a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The directory that it was in.
    #[serde(with = "super::bytes")]
    pub directory: PathBuf,
    /// What that is.
    pub kind: Kind,
    /// Its name there.
    #[serde(with = "super::bytes")]
    pub name: OsString,
    /// Its name in the backup's directory.
    pub saved: String,
    /// Why it went.
    pub reason: String,
    /// The certificate, for people.
    pub certificate: Option<String>,
    /// The first number of its row in the directory, if its name is that of a hash.
    pub row: Option<u32>,
    /// What it is.
    pub seen: Seen,
}

impl Record {
    /// Of a prune that begins now.
    pub fn new(made: String, entries: Vec<Entry>) -> Record {
        Record { schema: SCHEMA, made, finished: false, entries }
    }

    /// Writes it at once, and to the disk.
    pub fn write(&self, backup: &Directory) -> io::Result<()> {
        let (name, new) = (OsStr::new(FILE_NAME), OsStr::new(NEW));
        if backup.has(new) {
            backup.remove(new)?;
        }
        let mut file = backup.create(new)?;
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let written = file.write_all(&text).and_then(|()| file.sync_all()).and_then(|()| backup.replace(name, new));
        if let Err(error) = written {
            let _ = backup.remove(new);
            return Err(error);
        }
        backup.synchronise()
    }

    /// Reads it. None: there is none yet, so nothing was moved.
    pub fn read(backup: &Directory) -> Result<Option<Record>, Failure> {
        let path = backup.path.join(FILE_NAME);
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(FailureKind::Other, format!("the record {}", path.display()), why)
        };
        let bytes = match backup.look(OsStr::new(FILE_NAME), MAX_RECORD) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
            Ok(Some((seen, bytes))) if seen.target.is_none() => match believed::objection(seen.uid, seen.mode) {
                Some(why) => return Err(failed(&why)),
                None => bytes,
            },
            Ok(_) => return Err(failed(&"not a regular file, or too large")),
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|error| {
            failed(&error)
                .advise("it was damaged, or written by another version of windlass: the saved files are beside it")
        })?;
        if record.schema != SCHEMA {
            let why = format!("written by another version of windlass (schema {}, not {SCHEMA})", record.schema);
            return Err(failed(&why).advise("use that version to undo it"));
        }
        if let Some(entry) = record.entries.iter().find(|entry| !entry.is_well_formed()) {
            let path = entry.directory.join(&entry.name);
            return Err(failed(&format!("it names {} or {:?}, as no windlass does", path.display(), entry.saved)));
        }
        Ok(Some(record))
    }
}

impl Entry {
    /// Whether it is about one file of one directory, and one of its backup.
    fn is_well_formed(&self) -> bool {
        let is_record = self.saved.starts_with(FILE_NAME);
        is_name(&self.name) && is_name(OsStr::new(&self.saved)) && !is_record && is_plain(&self.directory)
    }
}
