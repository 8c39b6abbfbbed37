//! Other names of a systemd unit: links in the directories of units (systemd.unit(5), "Alias=").

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::destination::{Destination, Last};
use super::systemd::UNIT_DIRECTORIES;

/// A little more than the number of links that systemd follows from name to name.
const MOST_LINKS: usize = 16;

/// The unit that this name is an alias of. None if it is not an alias.
pub fn target(destination: &Destination, unit: &str) -> Option<String> {
    let mut name = unit.to_owned();
    for _ in 0..MOST_LINKS {
        let Some(next) = link_of(destination, &name) else { break };
        name = next;
    }
    (name != unit && !is_own_template(unit, &name)).then_some(name)
}

/// All other names of a unit.
pub fn names_of(destination: &Destination, unit: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for directory in UNIT_DIRECTORIES {
        let real = destination.real(Path::new(directory), Last::Followed);
        let entries = real.ok().and_then(|real| std::fs::read_dir(real).ok());
        for entry in entries.into_iter().flatten().flatten() {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let name = entry.file_name();
            let name = name.to_str().filter(|name| is_link && name.ends_with(".service"));
            if let Some(name) = name.filter(|name| target(destination, name).as_deref() == Some(unit)) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// The target of the unit file with this name, if it is a link to an existing unit file of another name.
fn link_of(destination: &Destination, name: &str) -> Option<String> {
    let path = unit_file(destination, name)?;
    let link = std::fs::read_link(path).ok()?;
    let next = link.file_name().and_then(OsStr::to_str).filter(|next| *next != name && next.ends_with(".service"))?;
    unit_file(destination, next).map(|_| next.to_owned())
}

/// The path at which this process reaches the unit file that systemd would use for a name.
fn unit_file(destination: &Destination, name: &str) -> Option<PathBuf> {
    let paths = UNIT_DIRECTORIES
        .iter()
        .filter_map(|directory| destination.real(&Path::new(directory).join(name), Last::Itself).ok());
    paths.into_iter().find(|real| real.symlink_metadata().is_ok())
}

/// `getty@tty1.service` may be a link to `getty@.service`, and is an instance of it nevertheless.
fn is_own_template(unit: &str, name: &str) -> bool {
    unit.split_once('@').is_some_and(|(stem, _)| name == format!("{stem}@.service"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn image() -> (tempfile::TempDir, Destination) {
        let directory = tempfile::tempdir().expect("a directory");
        let units = directory.path().join("usr/lib/systemd/system");
        let own = directory.path().join("etc/systemd/system");
        std::fs::create_dir_all(&units).expect("made");
        std::fs::create_dir_all(&own).expect("made");
        for name in ["mariadb.service", "getty@.service"] {
            std::fs::write(units.join(name), "[Service]\n").expect("written");
        }
        symlink("/usr/lib/systemd/system/mariadb.service", own.join("mysql.service")).expect("linked");
        symlink("mysql.service", own.join("mysqld.service")).expect("linked");
        symlink("/usr/lib/systemd/system/getty@.service", own.join("getty@tty1.service")).expect("linked");
        symlink("/dev/null", own.join("masked.service")).expect("linked");
        symlink("loop.service", own.join("loop2.service")).expect("linked");
        symlink("loop2.service", own.join("loop.service")).expect("linked");
        let destination = Destination::system(Some(directory.path())).expect("a place");
        (directory, destination)
    }

    #[test]
    fn links_are_followed_by_name() {
        let (_directory, destination) = image();
        assert_eq!(target(&destination, "mysql.service").as_deref(), Some("mariadb.service"));
        assert_eq!(target(&destination, "mysqld.service").as_deref(), Some("mariadb.service"));
        for own in ["mariadb.service", "getty@tty1.service", "masked.service", "none.service"] {
            assert_eq!(target(&destination, own), None, "{own}");
        }
        let names: Vec<_> = names_of(&destination, "mariadb.service").into_iter().collect();
        assert_eq!(names, ["mysql.service", "mysqld.service"]);
        // This must terminate, whatever it returns.
        target(&destination, "loop.service");
    }
}
