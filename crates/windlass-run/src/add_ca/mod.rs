//! `run --add-ca FILE`: certificates that only one process tree trusts.
//!
//! | module | concern |
//! | --- | --- |
//! | `input` | reading FILE: what is accepted, refused, warned about |
//! | `folder` | the files while the program runs, and their removal |
//! | `place` | the location of that folder |
//! | `base` | a program's trust without the flag |
//! | `variables` | the variables and their values |
//! | `java` | the trust store of a Java runtime |
//! | `report` | the section of `--stats` |
//!
//! The preload library adds FILE to the machine's own trust in the loads of OpenSSL and GnuTLS; all other programs
//! learn of it from variables. docs/add-ca.md has the reasons.

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

/// The variable that names the file to the preload library (adapters/preload, add_ca.rs).
const VARIABLE: &str = "WINDLASS_ADD_CA";
/// The file in the folder that holds only the added certificates.
const ADDED: &str = "added.pem";

/// The files that are ready for the program. Dropping it removes them.
pub struct Prepared {
    folder: Folder,
    report: AddCa,
}

impl Prepared {
    /// Removes the files. Returns the data for the report.
    pub fn remove(self) -> AddCa {
        drop(self.folder);
        self.report
    }
}

/// Reads the files, passes warnings to `warn`, and changes `environment` to make programs trust the certificates.
pub fn prepare(
    files: &[PathBuf],
    environment: &mut Environment,
    mut warn: impl FnMut(&str),
) -> Result<Prepared, Failure> {
    let mut input = input::read(files)?;
    for warning in &input.warnings {
        warn(warning);
    }
    // Inside another `run --add-ca`, the outer run's certificates are kept.
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

/// The same check that the preload library makes before it loads the file (adapters/preload, add_ca.rs).
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
