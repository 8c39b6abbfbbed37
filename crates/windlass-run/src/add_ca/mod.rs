//! `run --add-ca FILE`: certificates that one process tree trusts, and nobody else.
//!
//! | module | concern |
//! | --- | --- |
//! | `input` | reading FILE: what is taken, refused, warned of |
//! | `folder` | the files while the program runs, and how they go |
//! | `place` | where they lie |
//! | `base` | what a program would trust without the flag |
//! | `variables` | which variable gets what |
//! | `java` | the trust store of a Java runtime |
//! | `report` | what `--stats` says of it |
//!
//! The preload library adds FILE to what OpenSSL and GnuTLS load of the machine's own trust; everybody else is told by
//! variables. docs/add-ca.md has the reasons.

mod base;
mod folder;
mod input;
mod java;
mod place;
pub mod report;
mod variables;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_machine::{Failure, FailureKind};

use super::environment::Environment;
use folder::Folder;
use report::AddCa;

/// The variable by which the preload library is told of the file (adapters/preload, add_ca.rs).
const VARIABLE: &str = "WINDLASS_ADD_CA";
/// Only what was added, in the folder.
const ADDED: &str = "added.pem";

/// What lies ready for the program. Dropping it takes it away.
pub struct Prepared {
    folder: Folder,
    report: AddCa,
}

impl Prepared {
    /// Takes the files away. What is left is to be reported.
    pub fn remove(self) -> AddCa {
        drop(self.folder);
        self.report
    }
}

/// Reads the files, tells `warn` what is odd about them, and makes `environment` such that programs trust them.
pub fn prepare(
    files: &[PathBuf],
    environment: &mut Environment,
    mut warn: impl FnMut(&str),
) -> Result<Prepared, Failure> {
    let mut input = input::read(files)?;
    for warning in &input.warnings {
        warn(warning);
    }
    // Below another `run --add-ca`, what that one added stays.
    let outer = environment.value(VARIABLE).map(PathBuf::from).filter(|path| is_believed(path));
    if let Some(outer) = &outer {
        input.put_first(input::read(std::slice::from_ref(outer))?);
    }
    let folder =
        Folder::create().map_err(|error| failure("cannot make a directory for the files of --add-ca", error))?;
    let added = input.blocks();
    let cannot_write = |error| failure("cannot write the files of --add-ca", error);
    let path = folder.write(ADDED, added.concat().as_bytes(), 0o444).map_err(cannot_write)?;
    environment.set(VARIABLE, path.clone().into_os_string());
    let mut report = AddCa::new(&input);
    variables::set(environment, &folder, &path, &added, &mut report).map_err(cannot_write)?;
    let outer = outer.as_deref().and_then(Path::parent);
    java::set(environment, &folder, &input, outer, &mut report).map_err(cannot_write)?;
    Ok(Prepared { folder, report })
}

/// As the preload library asks before it loads the file (adapters/preload, add_ca.rs).
fn is_believed(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| {
        let is_ours = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
        metadata.is_file() && is_ours && metadata.mode() & 0o022 == 0
    })
}

fn failure(what: &str, error: std::io::Error) -> Failure {
    Failure::new(FailureKind::RunFailed, what, error)
        .advise("set TMPDIR, or XDG_RUNTIME_DIR, to a directory that you may write to, and that others may not change")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_could_have_written_is_not_copied() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("added.pem");
        fs::write(&file, "x").unwrap();
        for (mode, good) in [(0o444, true), (0o464, false), (0o646, false)] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_believed(&file), good, "{mode:o}");
        }
        assert!(!is_believed(place.path()) && !is_believed(Path::new("/dev/null")));
    }
}
