//! The users of a machine: their names and homes, from its passwd file.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest passwd files have some ten thousand users.
const LIMIT: u64 = 16 << 20;

/// What passwd(5) says. Not getpwuid(3): a directory service would be asked, by TLS perhaps.
#[derive(Debug, Default)]
pub struct Users {
    names: HashMap<u32, String>,
    homes: Vec<PathBuf>,
}

impl Users {
    /// Those of this root directory.
    pub fn of_this_machine() -> Users {
        File::open("/etc/passwd").map(Self::read).unwrap_or_default()
    }

    /// Reads a passwd file.
    pub fn read(file: impl Read) -> Users {
        let mut text = Vec::new();
        match file.take(LIMIT).read_to_end(&mut text) {
            Ok(_) => parse(&String::from_utf8_lossy(&text)),
            Err(_) => Users::default(),
        }
    }

    /// The name of a user, or the number.
    pub fn name(&self, uid: u32) -> String {
        self.names.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    /// Homes in which people or services keep files, each once. They need not be there.
    pub fn homes(&self) -> &[PathBuf] {
        &self.homes
    }
}

fn parse(passwd: &str) -> Users {
    let mut users = Users::default();
    for line in passwd.lines() {
        let fields: Vec<_> = line.split(':').collect();
        let (Some(name), Some(uid)) = (fields.first(), fields.get(2).and_then(|uid| uid.parse().ok())) else {
            continue;
        };
        // The first of several names counts, as for getpwuid.
        users.names.entry(uid).or_insert_with(|| (*name).to_owned());
        let home = fields.get(5).map(Path::new).filter(|home| is_home(home));
        if let Some(home) = home.filter(|home| users.homes.iter().all(|known| known != home)) {
            users.homes.push(home.to_owned());
        }
    }
    users
}

/// Accounts of services often have a directory of the system instead, which is large, and nobody's home.
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
        let passwd = b"root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/root:/bin/sh\ndamage\na:b:c\n\xffwww:x:33:33::/usr/games:\n:::\n";
        let users = Users::read(&passwd[..]);
        assert_eq!(
            (users.name(0).as_str(), users.name(33).as_str(), users.name(7).as_str()),
            ("root", "\u{fffd}www", "7")
        );
        assert_eq!(users.homes(), [Path::new("/root")]);
    }
}
