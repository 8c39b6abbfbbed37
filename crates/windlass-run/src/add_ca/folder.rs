//! The directory that holds the files of one run, and its removal however the run ends.
//!
//! Its owner holds a lock on it (flock(2) on the directory itself), which ends with the owner. Normally the owner
//! removes the directory; if the owner is killed, a helper that waits for the end of a pipe does; if both are killed,
//! the next run does, because it finds the lock free. The name is random, and none is used twice. Only files that
//! Windlass writes are removed, each by its name.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, open, unlinkat};
use rustix::io::Errno;

use super::place;

/// The names of these directories, before the random part.
const PREFIX: &str = "windlass-add-ca-";
/// Size of the random part in bytes; each gives two hexadecimal digits.
const RANDOM: usize = 8;
/// How often to try: another process's sweep can remove a new directory before it is locked.
const MAX_TRIES: usize = 16;
/// A line on the pipe says that the owner has removed the directory. The end without a line says that the owner was
/// killed.
const HELPER: &str = r#"trap "" HUP INT QUIT TERM
read -r _ || { cd -- "$1" && rm -f -- added.pem java.p12 bundle.pem bundle-[0-9]*.pem; cd / && rmdir -- "$1"; }"#;

/// A directory with files that everybody may read.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The open directory, which holds the lock.
    lock: File,
    helper: Option<(PipeWriter, Child)>,
}

impl Folder {
    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes an empty directory, after removing those of dead owners.
    pub fn create() -> io::Result<Folder> {
        place::with(Folder::create_in)
    }

    fn create_in(parent: &Path) -> io::Result<Folder> {
        sweep(parent);
        for _ in 0..MAX_TRIES {
            let path = make(parent)?;
            // The program must not inherit this descriptor: its lock would outlive us.
            let Ok(lock) = open_directory(&path) else { continue };
            // Some network file systems can't lock a directory. There, no sweep can lock it either.
            if flock(&lock, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) && is(&path, &lock) {
                // Independent of the umask: programs may change their user.
                lock.set_permissions(Permissions::from_mode(0o755))?;
                let helper = helper(&path).ok();
                return Ok(Folder { path, lock, helper });
            }
        }
        Err(io::Error::other("somebody removes every directory as soon as it is made"))
    }

    /// Writes a file. `mode` may only hold read permissions.
    pub fn write(&self, name: &str, content: &[u8], mode: u32) -> io::Result<PathBuf> {
        debug_assert!(is_file_of_ours(name), "{name} would stay");
        let path = self.path.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode & 0o444))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Anything that can't be removed now is removed by the helper, or by the next run.
        let removed = remove(&self.path, &self.lock);
        if let Some((mut pipe, mut helper)) = self.helper.take() {
            if removed.is_ok() {
                // If the helper was killed, nobody needs the line.
                let _ = pipe.write_all(b"\n");
            }
            drop(pipe);
            let _ = helper.wait();
        }
    }
}

fn make(parent: &Path) -> io::Result<PathBuf> {
    let mut random = [0; RANDOM];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .map_err(|error| io::Error::new(error.kind(), format!("/dev/urandom: {error}")))?;
    let path = parent.join(format!("{PREFIX}{:016x}", u64::from_ne_bytes(random)));
    let made = DirBuilder::new().mode(0o700).create(&path);
    made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    Ok(path)
}

/// Removes the directories of this user whose owners died without removing them.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if is_name_of_ours(entry.file_name().as_encoded_bytes()) {
            remove_if_dead(&entry.path());
        }
    }
}

fn remove_if_dead(path: &Path) {
    let Ok(directory) = open_directory(path) else { return };
    let is_own = directory.metadata().is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw());
    if is_own && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
        // Files that somebody else has put there stay, and keep the directory.
        let _ = remove(path, &directory);
    }
}

/// Removes Windlass's files, and the directory if it is then empty.
fn remove(path: &Path, directory: &File) -> io::Result<()> {
    // Another sweep may have replaced the directory between the opening and the lock.
    if !is(path, directory) {
        return Err(io::ErrorKind::NotFound.into());
    }
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(is_file_of_ours) {
            unlinkat(directory, &name, AtFlags::empty())?;
        }
    }
    fs::remove_dir(path)
}

fn is_name_of_ours(name: &[u8]) -> bool {
    let random = name.strip_prefix(PREFIX.as_bytes());
    random.is_some_and(|random| {
        random.len() == 2 * RANDOM && random.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn is_file_of_ours(name: &str) -> bool {
    let number = name.strip_prefix("bundle-").and_then(|rest| rest.strip_suffix(".pem"));
    matches!(name, "added.pem" | "java.p12" | "bundle.pem")
        || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn open_directory(path: &Path) -> io::Result<File> {
    Ok(open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?.into())
}

fn is(path: &Path, file: &File) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let [path, file] = [path.symlink_metadata(), file.metadata()].map(|metadata| metadata.map(identity).ok());
    path.is_some() && path == file
}

/// Starts the helper. Without a shell there is no helper.
fn helper(folder: &Path) -> io::Result<(PipeWriter, Child)> {
    use std::os::unix::process::CommandExt;
    let (reader, writer) = io::pipe()?;
    let child = Command::new("/bin/sh")
        .args(["-c", HELPER, "windlass-add-ca"])
        .arg(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Signals of a terminal or a shell to our process group are not meant for it.
        .process_group(0)
        .spawn()?;
    Ok((writer, child))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = [
        "windlass-add-ca-0000000000000001",
        "windlass-add-ca-0123456789abcdef",
        "windlass-add-ca-my-cas",
        "windlass-add-ca-000000000000000g",
    ];

    /// The directory of a killed owner is not locked by anybody.
    #[test]
    fn what_a_dead_owner_left_is_removed_and_what_a_living_one_has_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let [dead, living, other, another] = NAMES.map(|name| parent.path().join(name));
        for path in [&dead, &living, &other, &another] {
            fs::create_dir(path).unwrap();
            for name in ["added.pem", "java.p12", "bundle.pem", "bundle-2.pem", "bundle-10.pem"] {
                fs::write(path.join(name), "x").unwrap();
            }
        }
        let lock = File::open(&living).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        sweep(parent.path());
        assert!(!dead.exists() && living.join("added.pem").exists());
        // Unlocked rather than closed: programs started by other tests hold a copy until they are executed.
        flock(&lock, FlockOperation::Unlock).unwrap();
        sweep(parent.path());
        assert!(!living.exists());
        for path in [other, another] {
            assert_eq!(fs::read_dir(path).unwrap().count(), 5, "not a name of ours");
        }
    }

    #[test]
    fn files_that_we_do_not_write_stay() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join(NAMES[0]);
        fs::create_dir_all(path.join("keys")).unwrap();
        for name in ["ca.key", "bundle-.pem", "bundle-x.pem", "keys/added.pem", "added.pem"] {
            fs::write(path.join(name), "x").unwrap();
        }
        sweep(parent.path());
        let mut left: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["bundle-.pem", "bundle-x.pem", "ca.key", "keys"]);
        assert!(path.join("keys/added.pem").exists());
    }

    #[test]
    fn a_directory_that_took_the_name_of_the_locked_one_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join(NAMES[0]);
        fs::create_dir(&path).unwrap();
        let locked = open_directory(&path).unwrap();
        fs::rename(&path, parent.path().join("old")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(remove(&path, &locked).is_err());
        assert!(path.exists());
    }

    #[test]
    fn no_name_is_made_twice() {
        let parent = tempfile::tempdir().unwrap();
        let [one, other] = [(), ()].map(|()| make(parent.path()).unwrap());
        assert_ne!(one, other);
        for path in [one, other] {
            assert!(is_name_of_ours(path.file_name().unwrap().as_encoded_bytes()), "{}", path.display());
        }
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("added.pem"), "x").unwrap();
        std::os::unix::fs::symlink(&target, parent.path().join(NAMES[0])).unwrap();
        sweep(parent.path());
        assert!(target.join("added.pem").exists());
    }

    #[test]
    fn the_helper_removes_only_what_the_owner_did_not() {
        let parent = tempfile::tempdir().unwrap();
        for (said, stays) in [(&b"\n"[..], true), (b"", false)] {
            let path = make(parent.path()).unwrap();
            let (mut pipe, mut helper) = helper(&path).unwrap();
            fs::write(path.join("added.pem"), "x").unwrap();
            fs::write(path.join("bundle-12.pem"), "x").unwrap();
            pipe.write_all(said).unwrap();
            drop(pipe);
            helper.wait().unwrap();
            assert_eq!(path.join("added.pem").exists(), stays);
            assert_eq!(path.exists(), stays);
        }
    }

    #[test]
    fn nothing_is_left_of_a_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::create_in(parent.path()).unwrap();
        folder.write("added.pem", b"x", 0o444).unwrap();
        folder.write("bundle-2.pem", b"x", 0o400).unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
