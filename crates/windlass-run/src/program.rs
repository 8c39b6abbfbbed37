//! Finding a program as execvp(3) does.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use windlass_machine::{Failure, FailureKind};

/// The search path of glibc's execvp when PATH is not set (`_CS_PATH`, confstr(3)).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that the command name `name` resolves to.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let result = if name.as_bytes().contains(&b'/') {
        executable(Path::new(name)).map(|()| PathBuf::from(name))
    } else {
        search(name)
    };
    result.map_err(|errno| failure(name, errno.into()))
}

fn search(name: &OsStr) -> Result<PathBuf, Errno> {
    if name.is_empty() {
        return Err(Errno::NOENT);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    let mut result = Errno::NOENT;
    // An empty element is the current directory; join then gives the bare name, which execve takes as relative.
    for directory in std::env::split_paths(&path) {
        let candidate = directory.join(name);
        match executable(&candidate) {
            Ok(()) => return Ok(candidate),
            // Like execvp: a file that may not be executed is only reported if no better one follows.
            Err(Errno::ACCESS) => result = Errno::ACCESS,
            Err(_) => {}
        }
    }
    Err(result)
}

fn executable(path: &Path) -> Result<(), Errno> {
    access(path, Access::EXEC_OK)?;
    // A directory passes access(2), but execve(2) refuses it with EACCES.
    if path.is_dir() { Err(Errno::ACCESS) } else { Ok(()) }
}

/// The failure of a program that can't be found or executed.
pub fn failure(name: &OsStr, error: io::Error) -> Failure {
    let what = format!("cannot run {}", name.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if name.as_bytes().contains(&b'/') => {
            Failure::new(FailureKind::NotFound, what, "no such file, or the interpreter that it names does not exist")
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Failure::new(FailureKind::NotFound, what, "no such program in PATH")
                .advise("check the spelling and PATH, or give a path with a slash in it")
        }
        io::ErrorKind::PermissionDenied if name.as_bytes().contains(&b'/') && Path::new(name).is_dir() => {
            Failure::new(FailureKind::NotExecutable, what, "it is a directory")
        }
        // The advice fits every command of Windlass: it only shows the part after the options.
        io::ErrorKind::PermissionDenied => Failure::new(FailureKind::NotExecutable, what, error).advise(format!(
            "make it executable (chmod +x), or put its interpreter before it: -- sh {}",
            name.to_string_lossy()
        )),
        _ => Failure::new(FailureKind::NotExecutable, what, error),
    }
}
