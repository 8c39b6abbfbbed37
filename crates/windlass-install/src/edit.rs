//! Reading a file of others in which something of ours is to be put.

use std::io::ErrorKind;
use std::path::Path;

use windlass_machine::{Failure, FailureKind};

use super::place::{Last, Place};

/// Its bytes; none if it is not there. A link is followed: the file it leads to is the one that is changed.
pub fn read(place: &Place, path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let real = place.real(path, Last::Followed)?;
    let is_link = place.real(path, Last::Itself)?.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    match std::fs::metadata(&real) {
        Ok(metadata) if metadata.is_file() => match std::fs::read(&real) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Failure::new(FailureKind::Other, format!("can't read {}", real.display()), error)),
        },
        Ok(_) => Err(Failure::new(FailureKind::Other, real.display().to_string(), "not a regular file")
            .advise("windlass adds a line to a file there: move away what is there, and run this again")),
        Err(error) if error.kind() == ErrorKind::NotFound && is_link => {
            let why = format!("a symbolic link to {}, which does not exist", real.display());
            Err(Failure::new(FailureKind::Other, path.display().to_string(), why)
                .advise("make the file it leads to, or remove the link"))
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Failure::new(FailureKind::Other, format!("can't read {}", real.display()), error)),
    }
}
