//! Files that set variables for logins and shells.

use std::path::{Path, PathBuf};

use super::{MAX_FILE, MAX_TOTAL, Settings};
use crate::check::{Outcome, Unseen};
use crate::machine::{Machine, Target};

/// Files that PAM and the shells read at login.
const FILES: [&str; 9] = [
    "/etc/environment",
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zshenv",
    "/etc/zprofile",
    "/etc/zsh/zshenv",
    "/etc/zsh/zprofile",
    "/etc/zsh/zshrc",
];
/// Directories of further files, with the suffix of their names.
const DIRECTORIES: [(&str, &str); 3] =
    [("/etc/profile.d", ".sh"), ("/etc/environment.d", ".conf"), ("/usr/lib/environment.d", ".conf")];
/// The files of one user.
const OF_USER: [&str; 7] = [".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc"];
const DIRECTORY_OF_USER: (&str, &str) = (".config/environment.d", ".conf");
/// The most files read in one directory.
const MAX_FILES: usize = 500;
/// The bytes charged for an empty file, and for a name in a directory.
const OF_FILE: u64 = 1024;
const OF_NAME: u64 = 128;

/// Reads the system's files.
pub fn of_system(machine: &Machine<'_>, settings: &mut Settings, outcome: &mut Outcome) {
    let mut files: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    for (directory, end) in DIRECTORIES {
        files.extend(in_directory(machine, Path::new(directory), end, settings, outcome));
    }
    files.iter().for_each(|file| read(machine, file, settings, outcome));
}

/// Reads one user's files.
pub fn of_user(machine: &Machine<'_>, home: &Path, settings: &mut Settings, outcome: &mut Outcome) {
    let mut files: Vec<PathBuf> = OF_USER.iter().map(|name| home.join(name)).collect();
    let (directory, end) = DIRECTORY_OF_USER;
    files.extend(in_directory(machine, &home.join(directory), end, settings, outcome));
    files.iter().for_each(|file| read(machine, file, settings, outcome));
}

/// Reads one file of assignments, if it exists.
pub fn read(machine: &Machine<'_>, file: &Path, settings: &mut Settings, outcome: &mut Outcome) {
    if let Some(bytes) = content(machine, file, settings, outcome) {
        for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
            if let Some((name, value)) = assignment(line) {
                settings.add_line(name, &value, file, number);
            }
        }
    }
}

/// The bytes of a file that may be missing, or may be of any type.
pub fn content(machine: &Machine<'_>, file: &Path, settings: &mut Settings, outcome: &mut Outcome) -> Option<Vec<u8>> {
    match machine.look(file) {
        Ok(Target::File(metadata)) if metadata.len() > settings.left => {
            outcome.not_seen(Unseen::new(file, too_much()));
            None
        }
        Ok(Target::File(_)) => {
            let bytes = outcome.seen(machine.read(file, MAX_FILE))?.bytes;
            settings.left = settings.left.saturating_sub(OF_FILE.max(bytes.len() as u64));
            Some(bytes)
        }
        // A file in a directory closed to this user is not one of this user's.
        Err(Unseen { needs_root: true, .. }) | Ok(_) => None,
        Err(unseen) => {
            outcome.not_seen(unseen);
            None
        }
    }
}

/// Files of a directory whose names have this suffix. All its names are charged to the limit.
pub fn in_directory(
    machine: &Machine<'_>,
    directory: &Path,
    end: &str,
    settings: &mut Settings,
    outcome: &mut Outcome,
) -> Vec<PathBuf> {
    if settings.left == 0 {
        outcome.not_seen(Unseen::new(directory, too_much()));
        return Vec::new();
    }
    let Ok((entries, _)) = machine.entries(directory) else { return Vec::new() };
    settings.left = settings.left.saturating_sub(OF_NAME * entries.len() as u64);
    let named = entries.into_iter().filter(|entry| entry.name.to_str().is_some_and(|name| name.ends_with(end)));
    named.map(|entry| entry.path).take(MAX_FILES).collect()
}

fn too_much() -> String {
    format!("it was not read: the files before it have {} MiB", MAX_TOTAL >> 20)
}

/// `NAME=value`, with or without `export`, as a shell or pam_env reads it. Anything after the value is cut off.
fn assignment(line: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let mut line = line.trim_ascii();
    for word in [&b"export "[..], b"declare -x ", b"typeset -x "] {
        line = line.strip_prefix(word).map_or(line, <[u8]>::trim_ascii_start);
    }
    let place = line.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (line.get(..place)?, line.get(place + 1..)?);
    let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_name.then(|| (name, unquoted(value)))
}

/// The first word in shell syntax, without its quotes.
fn unquoted(value: &[u8]) -> Vec<u8> {
    let mut word = Vec::new();
    let mut quote = None;
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b' ' | b'\t' | b';' | b'&' | b'|' | b'#') => break,
            (None | Some(b'"'), b'\\') => word.extend(bytes.next()),
            // In single quotes a dollar is literal; but nobody uses a path with a dollar in it.
            (_, byte) => word.push(byte),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_of_shells() {
        let read = |line: &str| {
            let (name, value) = assignment(line.as_bytes())?;
            Some((String::from_utf8(name.to_vec()).unwrap(), String::from_utf8(value).unwrap()))
        };
        let is = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(read("SSL_CERT_FILE=/a.pem"), is("SSL_CERT_FILE", "/a.pem"));
        assert_eq!(read("  export A=\"/with space.pem\" # why"), is("A", "/with space.pem"));
        assert_eq!(read("A='/b.pem'; export A"), is("A", "/b.pem"));
        assert_eq!(read("export A="), is("A", ""));
        assert_eq!(read("A=/a\\ b"), is("A", "/a b"));
        for other in ["", "# A=b", "echo A=b", "if [ x = y ]", "=b", "export A"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
