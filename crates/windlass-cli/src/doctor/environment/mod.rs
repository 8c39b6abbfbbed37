//! Where environment variables are set that change what programs trust.

mod files;
mod running;
mod systemd;
pub mod variables;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::check::Outcome;
use super::machine::Machine;
use variables::Variable;

/// No real file of settings is larger.
const MAX_FILE: u64 = 1 << 20;
/// All files of the system together, and those of each user: a home is as large as its owner likes.
const MAX_TOTAL: u64 = 16 << 20;
/// Different values that are looked at. A user can set as many as he likes.
const MAX_SETTINGS: usize = 500;

/// A variable with one value, and all places that set it so.
#[derive(Debug)]
pub struct Setting {
    /// Which.
    pub variable: &'static Variable,
    /// Its value.
    pub value: Vec<u8>,
    /// Where it is set, for people: "this environment", "/etc/environment, line 3", "process 12 (nginx)".
    pub places: Vec<String>,
    /// The first file among them, with the line.
    pub file: Option<(PathBuf, u64)>,
}

/// Settings as they are collected.
#[derive(Debug, Default)]
pub struct Settings {
    /// In the order in which they were found.
    pub all: Vec<Setting>,
    /// Bytes that may still be read of the files that are looked through now.
    left: u64,
}

/// Collects all settings.
pub fn collect(machine: &Machine<'_>, outcome: &mut Outcome) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in &machine.environment {
        settings.add(name.as_bytes(), value.as_bytes(), || String::from("the environment of this command"), None);
    }
    settings.left = MAX_TOTAL;
    files::of_system(machine, &mut settings, outcome);
    systemd::of_system(machine, &mut settings, outcome);
    for home in &machine.homes {
        settings.left = MAX_TOTAL;
        files::of_user(machine, home, &mut settings, outcome);
        systemd::of_user(machine, home, &mut settings, outcome);
    }
    if !machine.is_image() {
        running::collect(&mut settings, outcome);
    }
    settings
}

impl Settings {
    /// Notes a setting, if it is of a variable that matters.
    fn add(&mut self, name: &[u8], value: &[u8], place: impl FnOnce() -> String, file: Option<(&Path, u64)>) {
        let Some(variable) = std::str::from_utf8(name).ok().and_then(Variable::named) else { return };
        let has_room = self.all.len() < MAX_SETTINGS;
        let known = self.all.iter_mut().find(|known| known.variable.name == variable.name && known.value == value);
        let file = file.map(|(path, line)| (path.to_owned(), line));
        match known {
            Some(known) => {
                known.places.push(place());
                known.file = known.file.take().or(file);
            }
            None if has_room => {
                self.all.push(Setting { variable, value: value.to_owned(), places: vec![place()], file });
            }
            None => {}
        }
    }

    /// The same for a line of a file. What has to be expanded to be known (`$HOME/ca.pem`, `%h/ca.pem`) is passed over.
    fn add_line(&mut self, name: &[u8], value: &[u8], file: &Path, line: u64) {
        if !value.iter().any(|byte| matches!(byte, b'$' | b'`' | b'%')) {
            self.add(name, value, || format!("{}, line {line}", file.display()), Some((file, line)));
        }
    }
}

impl Setting {
    /// The value as a path.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.value))
    }
}
