//! The file for the events of a trace: unreadable for other users, and removed at the end.

use std::fs::{File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_machine::{Failure, FailureKind};

/// A directory with the file for the events.
#[derive(Debug)]
pub struct Scratch {
    _directory: TempDir,
    /// The path of that file.
    pub path: PathBuf,
    /// Open from the start, because the program may remove any file.
    file: File,
}

impl Scratch {
    /// Makes the directory and the file.
    ///
    /// Root's processes may change to another user (`setpriv`, a server). For these, everybody can write to the file
    /// and nobody can read it; others can't list or guess its name, and are kept out by it.
    pub fn create() -> Result<Scratch, Failure> {
        let directory = directory()?;
        let create = |is_shared: bool| -> io::Result<(PathBuf, File)> {
            let path = directory.path().join(if is_shared { random_name()? } else { String::from("events") });
            let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            if is_shared {
                // Independent of the umask.
                file.set_permissions(Permissions::from_mode(0o622))?;
                std::fs::set_permissions(directory.path(), Permissions::from_mode(0o711))?;
            }
            Ok((path, file))
        };
        let (path, file) = create(rustix::process::geteuid().is_root()).map_err(|error| no_directory(&error))?;
        Ok(Scratch { _directory: directory, path, file })
    }

    /// The file with the events. Its position may be anywhere.
    pub fn events(&mut self) -> &mut File {
        &mut self.file
    }

    /// The file with the events, which no longer has a name.
    pub fn into_events(self) -> File {
        self.file
    }
}

/// A new directory for this user alone.
pub fn directory() -> Result<TempDir, Failure> {
    let made = std::path::absolute(std::env::temp_dir())
        .and_then(|place| tempfile::Builder::new().prefix("windlass-trace-").tempdir_in(place));
    made.map_err(|error| no_directory(&error))
}

fn no_directory(error: &io::Error) -> Failure {
    Failure::new(FailureKind::RunFailed, "cannot create a file for the events of the trace", error)
        .advise("set TMPDIR to a directory that you may write")
}

/// 128 random bits from the kernel: the names of `tempfile` are not meant to be secret.
fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open(Path::new("/dev/urandom"))?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn nobody_else_reads_the_events_or_finds_them() {
        let scratch = Scratch::create().unwrap();
        let (directory, path) = (scratch.path.parent().unwrap().to_owned(), scratch.path.clone());
        assert_eq!(directory.metadata().unwrap().mode() & 0o066, 0, "listed");
        assert_eq!(path.metadata().unwrap().mode() & 0o044, 0, "read");
        let is_secret = path.file_name().unwrap().len() == 32;
        assert_eq!(is_secret, path.metadata().unwrap().mode() & 0o022 != 0, "who may write must know the name");
        drop(scratch);
        assert!(!directory.exists());
    }
}
