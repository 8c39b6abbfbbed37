//! Units and configuration of systemd that set variables for services.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use windlass_machine::unit_file;

use super::{Settings, files};
use crate::check::Outcome;
use crate::machine::Machine;

/// The directories of system units and of user units (systemd.unit(5), UNIT FILE LOAD PATH).
const UNITS: [&str; 6] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/etc/systemd/user",
    "/usr/lib/systemd/user",
];
/// The managers' own configuration, which has DefaultEnvironment=, and its drop-in directories.
const MANAGERS: [&str; 2] = ["/etc/systemd/system.conf", "/etc/systemd/user.conf"];
/// The most units read in one directory.
const MAX_UNITS: usize = 5000;
const OF_USER: &str = ".config/systemd/user";

/// Reads the system's units and configuration.
pub fn of_system(machine: &Machine<'_>, settings: &mut Settings, outcome: &mut Outcome) {
    for manager in MANAGERS.map(Path::new) {
        unit(machine, manager, settings, outcome);
        drop_ins(machine, &manager.with_extension("conf.d"), settings, outcome);
    }
    UNITS.iter().for_each(|directory| units(machine, Path::new(directory), settings, outcome));
}

/// Reads one user's units and configuration.
pub fn of_user(machine: &Machine<'_>, home: &Path, settings: &mut Settings, outcome: &mut Outcome) {
    units(machine, &home.join(OF_USER), settings, outcome);
}

fn units(machine: &Machine<'_>, directory: &Path, settings: &mut Settings, outcome: &mut Outcome) {
    let Ok((entries, _)) = machine.entries(directory) else { return };
    for entry in entries.iter().filter(|entry| !entry.is_link).take(MAX_UNITS) {
        let name = entry.name.as_bytes();
        if name.ends_with(b".service") {
            unit(machine, &entry.path, settings, outcome);
        } else if name.ends_with(b".service.d") || name == b"service.d" {
            drop_ins(machine, &entry.path, settings, outcome);
        }
    }
}

fn drop_ins(machine: &Machine<'_>, directory: &Path, settings: &mut Settings, outcome: &mut Outcome) {
    for file in files::in_directory(machine, directory, ".conf", settings, outcome) {
        unit(machine, &file, settings, outcome);
    }
}

fn unit(machine: &Machine<'_>, file: &Path, settings: &mut Settings, outcome: &mut Outcome) {
    let Some(bytes) = files::content(machine, file, settings, outcome) else { return };
    for (line, number) in unit_file::lines(&bytes) {
        match unit_file::setting(&line) {
            Some((b"Environment" | b"DefaultEnvironment" | b"ManagerEnvironment", list)) => {
                for word in unit_file::words(list) {
                    if let Some(place) = word.iter().position(|byte| *byte == b'=') {
                        settings.add_line(&word[..place], &word[place + 1..], file, number);
                    }
                }
            }
            Some((b"EnvironmentFile", path)) => {
                let path = Path::new(OsStr::from_bytes(path.strip_prefix(b"-").unwrap_or(path)));
                if path.is_absolute() && settings.is_new(path) {
                    files::read(machine, path, settings, outcome);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user can fill a home with files, and the doctor may run as root.
    #[test]
    fn no_more_is_read_of_one_user_than_so_much() {
        let image = crate::testing::Image::healthy();
        image.write("etc/passwd", "u:x:1:1::/home/u:/bin/sh\n");
        let filler = "#".repeat(1 << 20);
        for number in 0..20 {
            image.write(&format!("home/u/.config/systemd/user/{number:02}.service"), &filler);
        }
        let machine = Machine::new(Some(image.root()), &[], false);
        let mut outcome = Outcome::default();
        super::super::collect(&machine, &mut outcome);
        assert_eq!(outcome.unseen.count(), 4, "{:?}", outcome.unseen);
        assert!(outcome.unseen.shown()[0].why.contains("16 MiB"), "{:?}", outcome.unseen);
    }

    #[test]
    fn a_file_that_units_name_is_read_once_and_not_any_number_of_them() {
        let image = crate::testing::Image::healthy();
        image.write("etc/passwd", "u:x:1:1::/home/u:/bin/sh\n");
        image.write("srv/a", "SSL_CERT_FILE=/a\n");
        let many: String = (0..600).map(|number| format!("EnvironmentFile=-/srv/{number}\n")).collect();
        let text = format!("[Service]\n{}{many}", "EnvironmentFile=/srv/a\n".repeat(50));
        image.write("home/u/.config/systemd/user/a.service", &text);
        let machine = Machine::new(Some(image.root()), &[], false);
        let mut outcome = Outcome::default();
        let settings = super::super::collect(&machine, &mut outcome);
        assert_eq!((settings.all.len(), settings.all[0].places.shown.len()), (1, 1));
        let unseen = outcome.unseen.shown();
        assert!(unseen.len() == 1 && unseen[0].why.starts_with("101 settings of variables, or files "), "{unseen:?}");
    }
}
