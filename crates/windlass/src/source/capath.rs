//! A hashed directory, as `c_rehash` and `openssl rehash` make them.
//!
//! OpenSSL looks for `hash.0`, `hash.1`, … until one is missing: files after a gap are not part of the source. Its
//! versions treat a broken link or an unreadable file in the sequence differently; here that is an error.

use std::fmt;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags};

use super::system::{FileSystem, System};
use super::{Reading, Resolve, State, cafile, failed, out_of_memory};
use crate::error::LoadError;
use crate::identity::{Identity, is_directory};
use crate::sorted::sorted;

/// How often reading is tried while the directory keeps changing.
const ATTEMPTS: usize = 5;

/// `hhhhhhhh.N`, in the order in which they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HashName {
    pub hash: u32,
    pub number: u32,
}

impl fmt::Display for HashName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}.{}", self.hash, self.number)
    }
}

impl HashName {
    /// Accepts only names that OpenSSL would look for: eight lower-case digits, and a number without leading zeros.
    fn parse(name: &[u8]) -> Option<HashName> {
        let (hash, number) = name.split_at_checked(8)?;
        let hash = u32::from_str_radix(std::str::from_utf8(hash).ok()?, 16).ok()?;
        let number = std::str::from_utf8(number.strip_prefix(b".")?).ok()?.parse().ok()?;
        let parsed = HashName { hash, number };
        (parsed.to_string().as_bytes() == name).then_some(parsed)
    }
}

/// The state of the directory and of each of its files.
pub(super) fn observe(path: &Path, resolve: Resolve<'_>) -> Result<State, LoadError> {
    let (directory, names) = list(&resolve(path.to_owned())?)?;
    let mut files = Vec::new();
    files.try_reserve_exact(names.len()).map_err(|_| out_of_memory(path))?;
    for name in names {
        files.push((name, cafile::observe(&resolve(path.join(name.to_string()))?)?));
    }
    Ok(State::Directory(directory, files.into_boxed_slice()))
}

pub(super) fn read(path: &Path, system: &dyn System, resolve: Resolve<'_>) -> Result<Reading, LoadError> {
    for _ in 0..ATTEMPTS {
        let now_ns = system.real_ns();
        let resolved = resolve(path.to_owned())?;
        let (directory, names) = list(&resolved)?;
        let mut believed = !directory.is_racy(now_ns) && keeps_timestamps(&resolved, &directory, system)?;
        let (mut files, mut states) = (Vec::new(), Vec::new());
        for name in names {
            let file = cafile::read(&resolve(path.join(name.to_string()))?, system)?;
            believed &= file.believed;
            states.push((name, file.identity));
            files.push(file.bytes);
        }
        let state = State::Directory(directory, states.into_boxed_slice());
        // A file that was read early may have changed while the others were read.
        if observe(path, resolve)? == state {
            return Ok(Reading { state, believed, files });
        }
    }
    Err(LoadError::ChangedWhileReading { path: path.to_owned() })
}

fn keeps_timestamps(path: &Path, identity: &Identity, system: &dyn System) -> Result<bool, LoadError> {
    let statfs = rustix::fs::statfs(path).map_err(|errno| failed(path, "stat", errno))?;
    Ok(identity.outlives(FileSystem::of(&statfs), system))
}

/// The directory's own identity, and the names in it that OpenSSL would reach.
fn list(path: &Path) -> Result<(Identity, Vec<HashName>), LoadError> {
    let stat = rustix::fs::stat(path).map_err(|errno| failed(path, "stat", errno))?;
    if !is_directory(&stat) {
        return Err(LoadError::NotAFile { path: path.to_owned(), wanted: "directory" });
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed(path, "open", errno))?;
    let stat = rustix::fs::fstat(&fd).map_err(|errno| failed(path, "stat", errno))?;
    let entries = Dir::new(fd).map_err(|errno| failed(path, "read", errno))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|errno| failed(path, "read", errno))?;
        if let Some(name) = HashName::parse(entry.file_name().to_bytes()) {
            names.try_reserve(1).map_err(|_| out_of_memory(path))?;
            names.push(name);
        }
    }
    let mut names = sorted(names);
    names.dedup();
    Ok((Identity::of(&stat), without_gaps(names)))
}

/// Keeps, for each hash, the numbers from 0 up to the first gap.
fn without_gaps(mut names: Vec<HashName>) -> Vec<HashName> {
    let mut expected = HashName { hash: 0, number: 0 };
    names.retain(|name| {
        if name.hash != expected.hash {
            expected = HashName { hash: name.hash, number: 0 };
        }
        let in_row = *name == expected;
        expected.number += u32::from(in_row);
        in_row
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(hash: u32, number: u32) -> HashName {
        HashName { hash, number }
    }

    #[test]
    fn only_names_that_openssl_asks_for() {
        assert_eq!(HashName::parse(b"0a1b2c3d.0"), Some(name(0x0a1b_2c3d, 0)));
        assert_eq!(HashName::parse(b"ffffffff.17"), Some(name(0xffff_ffff, 17)));
        let others: [&[u8]; 14] = [
            b"",
            b".",
            b"0a1b2c3d",
            b"0a1b2c3d.",
            b"0a1b2c3d.r0",
            b"0A1B2C3D.0",
            b"0a1b2c3d.00",
            b"0a1b2c3d.+1",
            b"+a1b2c3d.0",
            b"0a1b2c3d.-1",
            b"0a1b2c3.0",
            b"0a1b2c3d0.0",
            b"0a1b2c3d.0 ",
            b"0a1b2c3d.4294967296",
        ];
        for other in others {
            assert_eq!(HashName::parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn nothing_behind_a_gap() {
        let names = vec![name(0, 0), name(0, 2), name(5, 1), name(6, 0), name(6, 1), name(6, 3)];
        assert_eq!(without_gaps(names), [name(0, 0), name(6, 0), name(6, 1)]);
        assert_eq!(without_gaps(vec![name(0, 1)]), []);
    }
}
