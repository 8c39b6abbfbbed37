//! Who can change what is at a path. A record of somebody else is never believed, and what somebody else can change is
//! never named where root's programs look.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use windlass_machine::{Failure, FailureKind};

use super::disk;

/// A directory that is this user's or root's, and that nobody else can write to. `path` holds no link ([`Place::real`]
/// has followed them); none is followed here, so what is opened is what was looked at. None: it is not there.
///
/// [`Place::real`]: super::place::Place::real
pub fn directory(path: &Path) -> Result<Option<OwnedFd>, Failure> {
    let failed = |error: io::Error| disk::failure("open the directory", path, &error);
    let opened = match open_directory(path) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let status = rustix::fs::fstat(&opened).map_err(|error| failed(error.into()))?;
    if is_ours(status.st_uid, status.st_mode) { Ok(Some(opened)) } else { Err(distrusted(path)) }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let on_the_way = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::PATH;
    let mut names = path.components().filter(|part| matches!(part, Component::Normal(_))).peekable();
    let flags = |is_last| if is_last { directory_flags() } else { on_the_way };
    let mut opened = rustix::fs::open("/", flags(names.peek().is_none()), Mode::empty())?;
    while let Some(name) = names.next() {
        opened = rustix::fs::openat(&opened, name.as_os_str(), flags(names.peek().is_none()), Mode::empty())?;
    }
    Ok(opened)
}

fn directory_flags() -> OFlags {
    OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY
}

/// The same of a directory in one that was opened; `path` is for the error.
pub fn directory_in(parent: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<OwnedFd>, Failure> {
    let status = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        other => other.map_err(|error| disk::failure("look at", path, &error.into()))?,
    };
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory || !is_ours(status.st_uid, status.st_mode) {
        return Err(distrusted(path));
    }
    let opened = rustix::fs::openat(parent, name, directory_flags(), Mode::empty());
    opened.map(Some).map_err(|error| disk::failure("open the directory", path, &error.into()))
}

/// Opens a regular file in such a directory; with `create` for writing, and makes it (mode 0600) if it is not there.
pub fn file_in(directory: &OwnedFd, name: &str, create: bool, path: &Path) -> Result<Option<File>, Failure> {
    let how = if create { OFlags::WRONLY | OFlags::CREATE } else { OFlags::RDONLY | OFlags::NONBLOCK };
    let mode = Mode::RUSR | Mode::WUSR;
    let file = match rustix::fs::openat(directory, name, how | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return Err(distrusted(path)),
        other => File::from(other.map_err(|error| disk::failure("open", path, &error.into()))?),
    };
    match file.metadata() {
        Ok(metadata) if metadata.is_file() && is_ours(metadata.uid(), metadata.mode()) => Ok(Some(file)),
        Ok(_) => Err(distrusted(path)),
        Err(error) => Err(disk::failure("look at", path, &error)),
    }
}

fn is_ours(owner: u32, mode: u32) -> bool {
    (owner == 0 || owner == rustix::process::geteuid().as_raw()) && mode & 0o022 == 0
}

fn distrusted(path: &Path) -> Failure {
    let why = "it is a link, belongs to another user, or others can write to it: what it says is not believed";
    Failure::new(FailureKind::Other, path.display().to_string(), why)
        .advise("nothing was changed; look at who made it, and run this as that user, or remove it")
}

/// The first part of a path that somebody besides these users can change; what is not there (yet) is left out. A sticky
/// bit is no excuse: in such a directory anybody can put the first file of a name.
pub fn changeable_by_others(path: &Path, owners: &[u32]) -> Option<PathBuf> {
    let mut parts: Vec<_> = path.ancestors().collect();
    parts.reverse();
    let is_safe = |metadata: fs::Metadata| {
        owners.contains(&metadata.uid()) && (metadata.is_symlink() || metadata.mode() & 0o022 == 0)
    };
    let changeable = parts.into_iter().find(|part| match fs::symlink_metadata(part) {
        Ok(metadata) => !is_safe(metadata),
        Err(error) => error.kind() != ErrorKind::NotFound,
    });
    changeable.map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_path_is_safe_if_each_part_of_it_is() {
        assert_eq!(changeable_by_others(Path::new("/usr/bin"), &[0]), None);
        assert_eq!(changeable_by_others(Path::new("/usr/bin/nothing-of-this-name"), &[0]), None);
        assert_eq!(changeable_by_others(Path::new("/usr/bin"), &[4321]), Some("/".into()));
        assert_eq!(changeable_by_others(Path::new("/tmp/x"), &[0]), Some("/tmp".into()));
    }

    #[test]
    fn what_others_can_change_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("state");
        assert!(super::directory(&path).unwrap().is_none());
        fs::create_dir(&path).unwrap();
        let opened = super::directory(&path).unwrap().unwrap();
        let file = |create| file_in(&opened, "file", create, &path.join("file"));
        assert!(file(false).unwrap().is_none());
        assert!(file(true).unwrap().is_some() && file(false).unwrap().is_some());
        fs::set_permissions(path.join("file"), fs::Permissions::from_mode(0o620)).unwrap();
        assert!(file(false).unwrap_err().to_string().contains("not believed"));
        fs::remove_file(path.join("file")).unwrap();
        symlink("/etc/passwd", path.join("file")).unwrap();
        assert!(file(false).unwrap_err().to_string().contains("not believed"));
        symlink(path.with_file_name("created"), path.join("new")).unwrap();
        assert!(file_in(&opened, "new", true, &path).is_err() && !path.with_file_name("created").exists());
        let link = path.with_file_name("link");
        symlink(&path, &link).unwrap();
        assert!(super::directory(&link).unwrap().is_none(), "a link is not followed");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o775)).unwrap();
        assert!(super::directory(&path).is_err());
    }
}
