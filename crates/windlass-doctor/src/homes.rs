//! The home directories that are searched.

use std::path::{Path, PathBuf};

use super::machine::Machine;

const MAX_PASSWD: u64 = 4 << 20;
/// The most homes searched on one machine.
const MAX_HOMES: usize = 1000;

/// The directory in HOME, which programs follow whatever passwd(5) says; for root, also every existing home there.
pub fn of(machine: &Machine<'_>) -> Vec<PathBuf> {
    let own = machine.environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    if machine.is_image() || rustix::process::geteuid().is_root() {
        let passwd =
            machine.read(Path::new("/etc/passwd"), MAX_PASSWD).map(|content| content.bytes).unwrap_or_default();
        return named_in(own.as_deref(), &passwd, |home| machine.reach(home).is_ok_and(|home| home.is_dir()));
    }
    own.filter(|home| home.is_absolute()).into_iter().collect()
}

fn named_in(own: Option<&Path>, passwd: &[u8], exists: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut homes: Vec<PathBuf> = Vec::new();
    let lines = passwd.split(|byte| *byte == b'\n');
    let homes_there = lines.filter_map(|line| line.split(|byte| *byte == b':').nth(5));
    for home in own.into_iter().chain(homes_there.map(|home| Path::new(std::ffi::OsStr::from_bytes(home)))) {
        // Service accounts have "/", the directory of the service, "/nonexistent" or similar.
        if home.is_absolute()
            && home != Path::new("/")
            && homes.len() < MAX_HOMES
            && !homes.iter().any(|known| known == home)
            && exists(home)
        {
            homes.push(home.to_owned());
        }
    }
    homes.sort();
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_home_once() {
        let passwd = b"root:x:0:0::/root:/bin/sh\na:x:1:1::/home/a:\nb:x:2:2::/home/a:\nc:x:3:3::/nonexistent:\n\
            d:x:4:4::/:\nbroken\n";
        let found = |own: &str| named_in(Some(Path::new(own)), passwd, |home| !home.ends_with("nonexistent"));
        for known in ["/root", "/home/a/", "/", "relative", "", "/x/nonexistent"] {
            assert_eq!(found(known), [Path::new("/home/a"), Path::new("/root")], "{known}");
        }
        assert_eq!(found("/builds"), ["/builds", "/home/a", "/root"].map(Path::new));
    }
}
