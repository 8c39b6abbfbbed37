//! What was taken away, and where it is kept: `record.json` in a directory of its own, written before anything is
//! moved.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_journal::trust::{is_name, is_plain};
use windlass_journal::{Directory, Seen, record};
use windlass_machine::Failure;

use super::plan::Kind;

/// Its name in the backup's directory.
pub const FILE_NAME: &str = "record.json";

/// What one `windlass prune` took away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
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
    #[serde(with = "windlass_journal::bytes")]
    pub directory: PathBuf,
    /// What that is.
    pub kind: Kind,
    /// Its name there.
    #[serde(with = "windlass_journal::bytes")]
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
    /// Writes it at once, and to the disk.
    pub fn write(&self, backup: &Directory) -> io::Result<()> {
        record::write(backup, FILE_NAME, self, 0o600)
    }

    /// Reads it. None: there is none yet, so nothing was moved.
    pub fn read(backup: &Directory) -> Result<Option<Record>, Failure> {
        record::read(backup, FILE_NAME, |record: &Record| {
            let entry = record.entries.iter().find(|entry| !entry.is_well_formed())?;
            let path = entry.directory.join(&entry.name);
            Some(format!("it names {} or {:?}, as no windlass does", path.display(), entry.saved))
        })
    }
}

impl Entry {
    /// Whether it is about one file of one directory, and one of its backup.
    fn is_well_formed(&self) -> bool {
        let is_record = self.saved.starts_with(FILE_NAME);
        is_name(&self.name) && is_name(OsStr::new(&self.saved)) && !is_record && is_plain(&self.directory)
    }
}
