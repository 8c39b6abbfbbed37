//! The atomic changes, each made inside an opened directory.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, XattrFlags};
use windlass_machine::Failure;

use super::directory::Directory;
use super::failure;
use super::seen::reopen;
use super::stop::change;
use super::trust;

/// The attributes of a written file besides its bytes.
#[derive(Clone, Copy, Debug)]
pub enum Attributes {
    /// Windlass's own file, with this mode and this process's owner.
    Own(u32),
    /// Another program's file: keeps mode, owner and extended attributes (ACL, security label) of the file it replaces.
    Kept,
}

/// Opens the parent of a path without links, and returns it with the name in it.
pub fn parent(path: &Path) -> io::Result<(Directory, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    Ok((Directory::open(parent)?, name))
}

/// The temporary name under which a file is written before the rename. It begins with a dot and has no known suffix:
/// run-parts(8), systemd, shells, .NET and OpenSSL ignore it.
pub fn temporary(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(".windlass-new");
    temporary
}

impl Directory {
    /// Replaces the file atomically: every reader sees all of the old file or all of the new one, even after a power
    /// failure.
    pub fn write(&self, name: &OsStr, content: &[u8], attributes: Attributes) -> io::Result<()> {
        let temporary = temporary(name);
        self.remove_if_there(&temporary)?;
        let mut file = self.create(&temporary)?;
        let written = file.write_all(content).and_then(|()| self.apply(attributes, name, &file));
        let renamed = written.and_then(|()| file.sync_all()).and_then(|()| self.replace(name, &temporary));
        if let Err(error) = renamed {
            // Errors (a full disk) leave nothing behind; the leftovers of a kill are removed by the next run.
            let _ = self.remove_if_there(&temporary);
            return Err(error);
        }
        self.synchronise()
    }

    fn apply(&self, attributes: Attributes, name: &OsStr, file: &File) -> io::Result<()> {
        let mode = match attributes {
            Attributes::Own(mode) => return file.set_permissions(Permissions::from_mode(mode)),
            Attributes::Kept => OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        };
        let model = reopen(&rustix::fs::openat(&self.fd, name, mode, Mode::empty())?)?;
        let (is, now) = (model.metadata()?, file.metadata()?);
        // Ownership first: giving a file away clears set-user-ID bits.
        if (now.uid(), now.gid()) != (is.uid(), is.gid()) {
            std::os::unix::fs::fchown(file, Some(is.uid()), Some(is.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(is.mode() & 0o7777))?;
        copy_extended(&model, file, |_| true);
        Ok(())
    }

    /// Removes a temporary file that a killed command left behind.
    pub fn remove_temporary(&self, name: &OsStr) -> io::Result<()> {
        self.remove_if_there(&temporary(name))
    }

    /// Opens Windlass's own file for writing, and creates it (mode 0600) if it is missing.
    pub fn open_own(&self, name: &OsStr) -> Result<File, Failure> {
        let path = self.path.join(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR) {
            Err(rustix::io::Errno::LOOP) => return Err(trust::refused(&path, trust::NO_FILE)),
            opened => opened.map_err(io::Error::from),
        };
        let file = opened.map(File::from).map_err(|error| failure("open", &path, &error))?;
        let metadata = file.metadata().map_err(|error| failure("look at", &path, &error))?;
        match trust::objection(metadata.uid(), metadata.mode()) {
            _ if !metadata.is_file() => Err(trust::refused(&path, trust::NO_FILE)),
            Some(why) => Err(trust::refused(&path, why)),
            None => Ok(file),
        }
    }

    /// Moves a name into another directory of the same file system, where the new name must be free.
    pub fn rename(&self, name: &OsStr, to: &Directory, new: &OsStr) -> io::Result<()> {
        change()?;
        #[cfg(any(test, feature = "testing"))]
        if super::stop::APART.get() && self.is_apart(to) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        match rustix::fs::renameat_with(&self.fd, name, &to.fd, new, RenameFlags::NOREPLACE) {
            // NFS and some others support no flags.
            Err(rustix::io::Errno::INVAL) => self.link_and_remove(name, to, new),
            other => Ok(other?),
        }
    }

    /// The same in two steps: for a moment the file has both names.
    fn link_and_remove(&self, name: &OsStr, to: &Directory, new: &OsStr) -> io::Result<()> {
        rustix::fs::linkat(&self.fd, name, &to.fd, new, AtFlags::empty())?;
        self.remove(name)
    }

    /// Swaps two names atomically.
    pub fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::renameat_with(&self.fd, one, &self.fd, other, RenameFlags::EXCHANGE)?)
    }

    /// Removes a file or a link.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes a file or a link, if it exists.
    pub fn remove_if_there(&self, name: &OsStr) -> io::Result<()> {
        match if self.has(name) { self.remove(name) } else { Ok(()) } {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Creates a directory in this one, with this mode whatever the umask, and opens it.
    pub fn make(&self, name: &OsStr, mode: u32) -> io::Result<Directory> {
        change()?;
        rustix::fs::mkdirat(&self.fd, name, Mode::RWXU)?;
        let made = self.enter(name)?;
        rustix::fs::fchmod(&made.fd, Mode::from_raw_mode(mode))?;
        self.synchronise()?;
        Ok(made)
    }

    /// Creates a symbolic link in this directory.
    pub fn link(&self, to: &OsStr, name: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::symlinkat(to, &self.fd, name)?)
    }

    /// Removes an empty directory from this one.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Creates a new file, readable by its owner alone.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        change()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Replaces a file by another atomically.
    pub fn replace(&self, name: &OsStr, by: &OsStr) -> io::Result<()> {
        change()?;
        Ok(rustix::fs::renameat(&self.fd, by, &self.fd, name)?)
    }

    /// Writes the changes to the disk: they survive a power failure.
    pub fn synchronise(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }
}

/// Copies all extended attributes that can be copied: a label that this file system or process may not set is not an
/// error.
pub fn copy_extended(from: &File, to: &File, is_copied: impl Fn(&[u8]) -> bool) {
    let mut names = vec![0; 65536];
    let Ok(length) = rustix::fs::flistxattr(from, &mut names[..]) else { return };
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    for name in names.filter(|name| !name.is_empty() && is_copied(name)) {
        let mut value = vec![0; 65536];
        if let Ok(length) = rustix::fs::fgetxattr(from, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(to, name, value.get(..length).unwrap_or_default(), XattrFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn where_names_can_only_be_linked_nothing_is_overwritten_either() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(&place.path().canonicalize().unwrap()).unwrap();
        let name = OsStr::new;
        for file in ["a", "taken"] {
            std::fs::write(place.path().join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
        assert!(directory.link_and_remove(name("a"), &directory, name("taken")).is_err());
        directory.link_and_remove(name("a"), &directory, name("b")).unwrap();
        directory.link_and_remove(name("link"), &directory, name("c")).unwrap();
        assert_eq!(directory.names().unwrap(), ["b", "c", "taken"]);
        assert_eq!(
            std::fs::read_link(place.path().join("c")).unwrap(),
            Path::new("a"),
            "the link, not what it leads to"
        );
    }
}
