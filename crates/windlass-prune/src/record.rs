//! The record of removed files and their backup: `record.json` in a directory of its own, written before anything is
//! moved.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_journal::trust::{is_name, is_plain};
use windlass_journal::{Directory, Seen, record};
use windlass_machine::Failure;

use super::plan::Kind;

/// The name of the record in the backup's directory.
pub const FILE_NAME: &str = "record.json";

/// The files that one `windlass prune` removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The time of the prune: RFC 3339, UTC.
    pub made: String,
    /// Everything was done. If false, the command was interrupted, and some entries may not have been moved.
    pub finished: bool,
    /// The removed files, in the order of removal.
    pub entries: Vec<Entry>,
}

/// A removed file or link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The directory that it was in.
    #[serde(with = "windlass_journal::bytes")]
    pub directory: PathBuf,
    /// The kind of that directory.
    pub kind: Kind,
    /// Its name in that directory.
    #[serde(with = "windlass_journal::bytes")]
    pub name: OsString,
    /// Its name in the backup's directory.
    pub saved: String,
    /// The reason for its removal.
    pub reason: String,
    /// The certificate in it, for display.
    pub certificate: Option<String>,
    /// The first number of its sequence in the directory, if it is named by hash.
    pub row: Option<u32>,
    /// Its state before the removal.
    pub seen: Seen,
}

impl Record {
    /// Writes the record atomically, and to the disk.
    pub fn write(&self, backup: &Directory) -> io::Result<()> {
        record::write(backup, FILE_NAME, self, 0o600)
    }

    /// Reads the record. None if there is none yet: nothing was moved.
    pub fn read(backup: &Directory) -> Result<Option<Record>, Failure> {
        record::read(backup, FILE_NAME, |record: &Record| {
            let entry = record.entries.iter().find(|entry| !entry.is_well_formed())?;
            let path = entry.directory.join(&entry.name);
            Some(format!("it names {} or {:?}, which windlass never writes", path.display(), entry.saved))
        })
    }
}

impl Entry {
    /// Whether it names one file in one directory, and one file in its backup.
    fn is_well_formed(&self) -> bool {
        let is_record = self.saved.starts_with(FILE_NAME);
        is_name(&self.name) && is_name(OsStr::new(&self.saved)) && !is_record && is_plain(&self.directory)
    }
}
