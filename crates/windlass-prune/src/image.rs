//! An image: the paths and links in it, resolved as its own programs see them. Followed from outside, absolute links of
//! an image lead nowhere, or to this machine's own files.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use windlass::compiled::{Last, Root};

use windlass_journal::{Directory, is_nowhere};

/// The root directory of an image.
#[derive(Debug)]
pub struct Image {
    root: PathBuf,
}

impl Image {
    /// Opens an image; None if it is this machine's own root directory.
    pub fn open(root: &Path) -> io::Result<Option<Image>> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok((root != Path::new("/")).then_some(Image { root }))
    }

    /// The root directory, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path by which this process reaches `path` of the image. An error if it does not exist.
    pub fn reach(&self, path: &Path) -> io::Result<PathBuf> {
        let reached = Root(Some(&self.root)).reach(path, Last::Followed)?;
        reached.symlink_metadata().map(|_| reached)
    }

    /// The path by which this process reaches a path of the image that holds no links.
    pub fn here(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The path by which programs of the image know this process's `path`, which holds no links.
    pub fn inside(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).map_or_else(|_| path.to_owned(), |below| Path::new("/").join(below))
    }

    /// Whether a name in a directory of the image has a target that exists.
    pub fn leads_somewhere(&self, directory: &Directory, name: &OsStr) -> bool {
        self.end(directory, name).err().is_none_or(|error| !is_nowhere(&error))
    }

    /// The content of the regular file, of at most `limit` bytes, that a name in a directory of the image leads to.
    pub fn read_through(&self, directory: &Directory, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        let end = self.end(directory, name).ok()?;
        let parent = Directory::open(end.parent()?).ok()?;
        // Follow no link: one that was put there since could lead out of the image.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = rustix::fs::openat(&parent.fd, end.file_name()?, flags, Mode::empty()).ok()?;
        let status = rustix::fs::fstat(&found).ok()?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        if is_file { directory.bytes_of(&found, limit) } else { None }
    }

    fn end(&self, directory: &Directory, name: &OsStr) -> io::Result<PathBuf> {
        self.reach(&self.inside(&directory.path.join(name)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_into_the_image() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("etc/certs")).unwrap();
        fs::create_dir_all(root.join("usr/share")).unwrap();
        fs::write(root.join("usr/share/a.crt"), "a").unwrap();
        let links = [
            ("absolute", "/usr/share/a.crt"),
            ("relative", "../../usr/share/a.crt"),
            ("above", "../../../../../../../usr/share/a.crt"),
            ("through", "absolute"),
            ("hosts", "/etc/passwd"),
            ("loop", "loop"),
            ("directory", "/usr"),
        ];
        for (name, target) in links {
            symlink(target, root.join("etc/certs").join(name)).unwrap();
        }
        let image = Image::open(&root).unwrap().unwrap();
        let directory = Directory::open(&image.reach(Path::new("/etc/certs")).unwrap()).unwrap();
        assert_eq!(image.inside(&directory.path), Path::new("/etc/certs"));
        for (name, _) in links {
            let (name, leads) = (OsStr::new(name), !["hosts", "loop"].contains(&name));
            assert_eq!(image.leads_somewhere(&directory, name), leads, "{name:?}");
            let is_file = leads && name != "directory";
            assert_eq!(image.read_through(&directory, name, 9), is_file.then(|| b"a".to_vec()), "{name:?}");
        }
        assert!(Image::open(Path::new("/")).unwrap().is_none());
        assert!(Image::open(&root.join("usr/share/a.crt")).is_err() && Image::open(&root.join("gone")).is_err());
    }
}
