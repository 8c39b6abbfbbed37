//! The directory that compiled stores are written to.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use windlass::compiled::{Directories, Last, Root, SYSTEM_DIRECTORY};
use windlass_machine::Failure;

/// The directory that was named, or else the one of WINDLASS_STORE or the machine's, both below `root`.
pub fn directory(named: Option<&Path>, root: Root<'_>, writes: bool) -> Result<PathBuf, Failure> {
    let Some(image) = root.0 else {
        return match named {
            Some(path) => std::path::absolute(path)
                .map_err(|error| Failure::other(format!("cannot use {}", path.display()), error)),
            None => own(writes),
        };
    };
    // The variables apply to this machine only, and so does the user.
    let inside = Path::new("/").join(named.unwrap_or(Path::new(SYSTEM_DIRECTORY)));
    if !image.is_dir() {
        return Err(Failure::other(format!("cannot use --root {}", image.display()), "not a directory")
            .advise("name the root directory of the image that is being built"));
    }
    root.reach(&inside, Last::Followed)
        .map_err(|error| Failure::other(format!("cannot find {} in the image", inside.display()), error))
}

/// The directory that `compile` writes to and `cache clear` clears by default: the one of WINDLASS_STORE, or else the
/// machine's, which only root can write to.
pub fn own(writes: bool) -> Result<PathBuf, Failure> {
    let directories = Directories::from_environment(|name| std::env::var_os(name));
    let cannot = |why: &str| Failure::other("no directory for compiled stores", why.to_owned());
    let Some(directory) = directories.iter().next() else {
        return Err(cannot("WINDLASS_STORE is set, but not to an absolute path").advise("set it to one, or unset it"));
    };
    if writes && directory == Path::new(SYSTEM_DIRECTORY) && !rustix::process::geteuid().is_root() {
        return Err(cannot(&format!("programs look in {SYSTEM_DIRECTORY}, and use only stores of root there"))
            .advise("for the whole machine: run this as root (sudo)")
            .advise(
                "for yourself: set WINDLASS_STORE=DIR for this command, and for the programs that should look \
                     only in DIR",
            ));
    }
    Ok(directory.to_owned())
}

/// Fails if the directory is not writable. Compiling may take long, and this should be reported before it starts.
pub fn check_writable(directory: &Path) -> Result<(), Failure> {
    // For a missing directory, checks its first existing ancestor.
    for place in directory.ancestors() {
        match rustix::fs::accessat(CWD, place, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
            Ok(()) => return Ok(()),
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(not_writable(directory, &std::io::Error::from(errno))),
        }
    }
    Ok(())
}

/// The error for a directory that can't be written to.
pub fn not_writable(directory: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::other(format!("cannot write to {}", directory.display()), error);
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => failure.advise(format!(
            "run as the owner of the directory, or name another one: --store DIR (programs look in \
             {SYSTEM_DIRECTORY}; WINDLASS_STORE=DIR makes them look in DIR only)"
        )),
        _ => failure.advise("name another directory: --store DIR"),
    }
}
