//! The files that a process has mapped, from `/proc/PID/maps`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// In bytes. A process with many threads has some thousand lines of about a hundred bytes.
const LIMIT: u64 = 16 << 20;

/// A mapped file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The path in the process's root.
    pub path: PathBuf,
    /// Its inode number, which identifies the file later.
    pub inode: u64,
}

impl Mapped {
    /// The last part of the path.
    pub fn name(&self) -> &[u8] {
        self.path.file_name().map(OsStr::as_bytes).unwrap_or_default()
    }
}

/// Every mapped file once, sorted by path.
pub fn files(pid: u32) -> std::io::Result<Vec<Mapped>> {
    Ok(parse(&super::proc_files::read(pid, "maps", LIMIT)?))
}

/// Lines are `address perms offset dev inode      path`; in a path, line ends are written as `\012`, and a removed file
/// has ` (deleted)` after its path.
fn parse(maps: &[u8]) -> Vec<Mapped> {
    let mut files = BTreeMap::new();
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(start) = line.iter().position(|byte| *byte == b'/') else { continue };
        let (fields, path) = line.split_at(start);
        let inode =
            std::str::from_utf8(fields).ok().and_then(|fields| fields.split_ascii_whitespace().nth(4)?.parse().ok());
        let Some(inode) = inode.filter(|inode| *inode > 0) else { continue };
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        files.insert((plain(path), inode), ());
    }
    files.into_keys().map(|(path, inode)| Mapped { path, inode }).collect()
}

/// Undoes the kernel's `\012` (fs/proc/task_mmu.c, `show_map_vma`: line ends only).
fn plain(path: &[u8]) -> PathBuf {
    if !path.contains(&b'\\') {
        return Path::new(OsStr::from_bytes(path)).to_path_buf();
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = behind;
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_once_without_their_decoration() {
        let maps = b"7f00-7f01 r--p 00000000 fe:00 42                         /usr/lib/a b.so\n\
            7f01-7f02 r-xp 00001000 fe:00 42                         /usr/lib/a b.so\n\
            7f02-7f03 r-xp 00001000 fe:00 43                         /usr/lib/gone.so (deleted)\n\
            7f03-7f04 rw-p 00000000 00:00 0                          [heap]\n\
            7f04-7f05 rw-s 00000000 00:01 0                          /dev/zero\n\
            7f05-7f06 r--p 00000000 fe:00 44                         /x\\012y\n\
            damage /\n\xff\xff /\xff";
        let files: Vec<_> =
            parse(maps).into_iter().map(|file| (file.path.into_os_string().into_vec(), file.inode)).collect();
        let expected: [(&[u8], u64); 3] = [(b"/usr/lib/a b.so", 42), (b"/usr/lib/gone.so", 43), (b"/x\ny", 44)];
        assert_eq!(files, expected.map(|(path, inode)| (path.to_vec(), inode)));
    }

    #[test]
    fn this_process_has_its_executable_mapped() {
        let own = std::env::current_exe().unwrap();
        assert!(files(std::process::id()).unwrap().iter().any(|file| file.path == own));
    }
}
