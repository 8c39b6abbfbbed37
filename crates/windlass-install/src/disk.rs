//! The few ways in which an installation changes a file system. Each is one atomic change, or made of such.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, XattrFlags};
use rustix::io::Errno;
use windlass_machine::{Failure, FailureKind};

use super::owned;

/// Makes the changes. In tests it can be told to stop after so many of them, as if the process had been killed there.
#[derive(Debug, Default)]
pub struct Disk {
    #[cfg(test)]
    left: std::cell::Cell<Option<usize>>,
}

/// What a file has besides its bytes.
#[derive(Clone, Debug)]
pub enum Attributes {
    /// A file of ours, with this mode and this process's owner.
    Own(u32),
    /// A file of others: mode, owner and extended attributes (ACL, security label) of the one at this path.
    As(PathBuf),
}

impl Disk {
    /// A disk that stops before change number `changes`, from 0.
    #[cfg(test)]
    pub fn stopping_after(changes: usize) -> Disk {
        Disk { left: std::cell::Cell::new(Some(changes)) }
    }

    #[cfg(test)]
    fn change(&self) -> io::Result<()> {
        match self.left.get() {
            Some(0) => Err(io::Error::other("stopped by the test")),
            left => {
                self.left.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests stop here")]
    fn change(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes a directory, mode 0755 whatever the umask.
    pub fn make_directory(&self, path: &Path) -> Result<(), Failure> {
        let make = || {
            self.change()?;
            match fs::create_dir(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
                other => other?,
            }
            fs::set_permissions(path, Permissions::from_mode(0o755))?;
            synchronise(path.parent())
        };
        make().map_err(|error| failure("make the directory", path, &error))
    }

    /// Puts `content` at `path` at once: whoever opens it sees all of the old file or all of the new one, also after a
    /// power failure.
    pub fn replace(&self, path: &Path, content: &[u8], attributes: &Attributes) -> Result<(), Failure> {
        let temporary = temporary(path);
        let replace = || {
            self.remove_if_there(&temporary)?;
            self.change()?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            let written =
                file.write_all(content).and_then(|()| apply(&file, attributes)).and_then(|()| file.sync_all());
            let renamed = written.and_then(|()| self.change()).and_then(|()| fs::rename(&temporary, path));
            if let Err(error) = renamed {
                // Nothing is left behind by an error (a full disk); what a kill leaves is removed by the next run.
                let _ = self.remove_if_there(&temporary);
                return Err(error);
            }
            synchronise(path.parent())
        };
        replace().map_err(|error| failure("write", path, &error))
    }

    /// Makes a symbolic link.
    pub fn link(&self, to: &Path, path: &Path) -> Result<(), Failure> {
        let link = || {
            self.change()?;
            std::os::unix::fs::symlink(to, path)?;
            synchronise(path.parent())
        };
        link().map_err(|error| failure("make the link", path, &error))
    }

    /// Removes a file or a link, if it is there.
    pub fn remove(&self, path: &Path) -> Result<(), Failure> {
        let remove = || {
            self.remove_if_there(path)?;
            synchronise(path.parent())
        };
        remove().map_err(|error| failure("remove", path, &error))
    }

    /// Removes a directory if it is there and empty; says whether it is gone.
    pub fn remove_directory(&self, path: &Path) -> Result<bool, Failure> {
        let remove = || {
            self.change()?;
            match fs::remove_dir(path) {
                Ok(()) => synchronise(path.parent()).map(|()| true),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
                Err(error) => Err(error),
            }
        };
        remove().map_err(|error| failure("remove the directory", path, &error))
    }

    /// Removes compiled stores, and the directory if nothing else is in it; says whether it is gone.
    pub fn remove_stores(&self, path: &Path) -> Result<bool, Failure> {
        let Some(directory) = owned::directory(path)? else { return Ok(true) };
        let entries = rustix::fs::Dir::read_from(&directory).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(|error| failure("read the directory", path, &error.into()))?;
        for entry in entries.iter().filter(|entry| entry.file_type() == FileType::RegularFile) {
            let name = entry.file_name().to_bytes();
            if name.ends_with(b".store") || name.starts_with(b".") {
                self.remove_in(&directory, OsStr::from_bytes(name), AtFlags::empty())
                    .map_err(|error| failure("remove a file in", path, &error))?;
            }
        }
        self.remove_directory(path)
    }

    /// Removes a name in an opened directory, if it is there: no link on the way leads anywhere else.
    pub fn remove_in(&self, directory: &OwnedFd, name: &OsStr, flags: AtFlags) -> io::Result<()> {
        self.change()?;
        match rustix::fs::unlinkat(directory, name, flags) {
            Err(Errno::NOENT) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Gives a file or directory another name on the same file system, where nothing may be yet.
    pub fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change()?;
        let here = rustix::fs::CWD;
        rustix::fs::renameat_with(here, from, here, to, rustix::fs::RenameFlags::NOREPLACE)?;
        synchronise(to.parent())
    }

    /// Removes what a killed [`Disk::replace`] of `path` left behind.
    pub fn remove_temporary(&self, path: &Path) -> Result<(), Failure> {
        let temporary = temporary(path);
        self.remove_if_there(&temporary).map_err(|error| failure("remove", &temporary, &error))
    }

    fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound)) {
            return Ok(());
        }
        self.change()?;
        match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// The name under which a file is written before it gets its own. It begins with a dot and has no known suffix, so that
/// run-parts(8), systemd and shells take no notice of it.
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.windlass-new"))
}

fn apply(file: &File, attributes: &Attributes) -> io::Result<()> {
    match attributes {
        Attributes::Own(mode) => file.set_permissions(Permissions::from_mode(*mode)),
        Attributes::As(model) => {
            let (model_is, now) = (fs::metadata(model)?, file.metadata()?);
            // Ownership first: giving a file away clears set-user-ID bits.
            if (now.uid(), now.gid()) != (model_is.uid(), model_is.gid()) {
                std::os::unix::fs::fchown(file, Some(model_is.uid()), Some(model_is.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(model_is.mode() & 0o7777))?;
            copy_extended(model, file);
            Ok(())
        }
    }
}

/// Copies what can be copied: a label or an ACL that the file system or this process may not set is no reason to fail.
fn copy_extended(model: &Path, file: &File) {
    let mut names = vec![0; 4096];
    let Ok(length) = rustix::fs::listxattr(model, &mut names[..]) else { return };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 65536];
        if let Ok(length) = rustix::fs::getxattr(model, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(file, name, &value[..length], XattrFlags::empty());
        }
    }
}

fn synchronise(directory: Option<&Path>) -> io::Result<()> {
    directory.map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// The error of a change, with what to do about the usual ones.
pub fn failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(FailureKind::Other, format!("can't {action} {}", path.display()), error);
    let failure = match error.kind() {
        ErrorKind::ReadOnlyFilesystem => failure
            .advise(
                "this file system is mounted read-only: remount it (mount -o remount,rw), or install into the image",
            )
            .advise("for an image: windlass install --root DIR"),
        ErrorKind::PermissionDenied => failure.advise("run it as root, or as the owner of that path"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => failure.advise("make room on that file system"),
        ErrorKind::NotADirectory => failure.advise("a part of that path is a file, where a directory was expected"),
        _ => failure,
    };
    failure.advise("nothing is half done: run the same command again, or `windlass uninstall` to undo what was done")
}
