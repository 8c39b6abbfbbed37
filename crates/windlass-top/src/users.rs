//! The users of a machine: their names and homes, from its passwd file.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// In bytes: some ten thousand users.
const LIMIT: u64 = 1 << 20;
/// The most homes searched on one machine.
pub(crate) const HOMES: usize = 1000;
/// The most homes searched in one container, whose passwd file may say anything.
pub(crate) const HOMES_ELSEWHERE: usize = 64;

/// The entries of passwd(5). Not read by getpwuid(3), which could ask a directory service, perhaps over TLS.
#[derive(Debug, Default)]
pub struct Users {
    names: HashMap<u32, String>,
    homes: Vec<PathBuf>,
    left_out: usize,
}

impl Users {
    /// The users of this root directory, and the directory in HOME, which programs follow whatever passwd(5) says.
    pub fn of_this_machine() -> Users {
        windlass_machine::regular::open(Path::new("/etc/passwd"))
            .map(|file| Self::read(file, HOMES))
            .unwrap_or_default()
            .with(std::env::var_os("HOME").map(PathBuf::from))
    }

    fn with(mut self, home: Option<PathBuf>) -> Users {
        self.homes.extend(home.filter(|home| is_home(home) && !self.homes.contains(home)));
        self
    }

    /// Reads a passwd file, with at most this many homes.
    pub fn read(file: impl Read, homes: usize) -> Users {
        let mut text = Vec::new();
        match file.take(LIMIT).read_to_end(&mut text) {
            Ok(length) => {
                let mut users = parse(&String::from_utf8_lossy(&text), homes);
                // There may be more after the limit.
                users.left_out += usize::from(length as u64 == LIMIT);
                users
            }
            Err(_) => Users::default(),
        }
    }

    /// The name of a user, or the number.
    pub fn name(&self, uid: u32) -> String {
        self.names.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    /// Homes in which people or services keep files, each once. They may not exist.
    pub fn homes(&self) -> &[PathBuf] {
        &self.homes
    }

    /// The number of homes beyond the limit.
    pub(crate) fn homes_left_out(&self) -> usize {
        self.left_out
    }
}

fn parse(passwd: &str, homes: usize) -> Users {
    let mut users = Users::default();
    let mut seen = HashSet::new();
    for line in passwd.lines() {
        let fields: Vec<_> = line.split(':').collect();
        let (Some(name), Some(uid)) = (fields.first(), fields.get(2).and_then(|uid| uid.parse().ok())) else {
            continue;
        };
        // The first of several names counts, as in getpwuid.
        users.names.entry(uid).or_insert_with(|| (*name).to_owned());
        let home = fields.get(5).map(Path::new).filter(|home| is_home(home));
        match home.filter(|home| seen.insert(home.to_path_buf())) {
            Some(home) if users.homes.len() < homes => users.homes.push(home.to_owned()),
            Some(_) => users.left_out += 1,
            None => {}
        }
    }
    users
}

/// Service accounts often have a system directory instead, which is large, and is not a home.
fn is_home(path: &Path) -> bool {
    const OF_THE_SYSTEM: [&str; 9] = ["/bin", "/boot", "/dev", "/etc", "/proc", "/run", "/sbin", "/sys", "/usr"];
    let is_too_high = path == Path::new("/") || path == Path::new("/var");
    path.is_absolute() && !is_too_high && OF_THE_SYSTEM.iter().all(|own| !path.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_of_a_number_counts() {
        let passwd = b"root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/root:/bin/sh\n\
            damage\na:b:c\n\xffwww:x:33:33::/usr/games:\n:::\n";
        let users = Users::read(&passwd[..], HOMES);
        assert_eq!(
            (users.name(0).as_str(), users.name(33).as_str(), users.name(7).as_str()),
            ("root", "\u{fffd}www", "7")
        );
        assert_eq!(users.homes(), [Path::new("/root")]);
        let users =
            ["/root/", "/", "/usr/games", "relative"].map(PathBuf::from).into_iter().map(Some).fold(users, Users::with);
        assert_eq!(users.homes(), [Path::new("/root")]);
        assert_eq!(users.with(Some(PathBuf::from("/builds"))).homes(), ["/root", "/builds"].map(Path::new));
    }

    #[test]
    fn homes_have_an_end() {
        let passwd: String = (0..30_000).map(|number| format!("u:x:{number}:0::/h/{}:\n", number / 2)).collect();
        let users = Users::read(passwd.as_bytes(), 64);
        assert_eq!((users.homes().len(), users.homes_left_out()), (64, 15_000 - 64));
    }
}
