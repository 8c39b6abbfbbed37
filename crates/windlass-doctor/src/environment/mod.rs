//! The places that set environment variables which change the trust of programs.

mod files;
mod running;
mod systemd;
pub mod variables;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::check::{Facts, Finding, Outcome, Severity, Unseen};
use super::machine::Machine;
use variables::Variable;

/// In bytes. No real settings file is larger.
const MAX_FILE: u64 = 1 << 20;
/// In bytes, for all files of the system together, and for those of each user: a home can be arbitrarily large.
const MAX_TOTAL: u64 = 16 << 20;
/// The most different values set by the system's files, by each user's files, and by each user's processes. A user can
/// set any number.
const MAX_SETTINGS: usize = 100;
/// In bytes. A path has at most 4096.
const MAX_VALUE: usize = 16 << 10;
/// The most places reported for one value and origin.
const MAX_PLACES: usize = 8;
/// The most files named by the units of one origin.
const MAX_NAMED: usize = 500;

/// The origin of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The environment of the command.
    #[default]
    Command,
    /// Files of the system.
    System,
    /// Files in the home with this index.
    Home(usize),
    /// Processes of the user with this id.
    Processes(u32),
}

/// A variable with one value, and all places that set it to that value.
#[derive(Debug)]
pub struct Setting {
    /// The variable that is set.
    pub variable: &'static Variable,
    /// The value, as bytes.
    pub value: Vec<u8>,
    /// The places that set it, for display: "this environment", "/etc/environment, line 3", "process 12 (nginx)".
    pub places: Facts,
    /// The first file among them, with the line.
    pub file: Option<(PathBuf, u64)>,
    /// The first file in which it shows, possibly one of /proc.
    seen_at: PathBuf,
    /// The first origin that set it.
    origin: Origin,
    /// The last origin that set it, and how often.
    last: (Origin, usize),
}

/// The settings during collection.
#[derive(Debug, Default)]
pub struct Settings {
    /// The settings, in the order of their discovery.
    pub all: Vec<Setting>,
    /// The position of each variable and value in `all`.
    known: HashMap<(&'static str, Vec<u8>), usize>,
    /// The current origin, and its remaining limits.
    origin: Origin,
    /// Where a setting shows that is in no file.
    seen_at: PathBuf,
    left: u64,
    room: usize,
    named: HashSet<PathBuf>,
    /// Number of settings beyond the limit.
    dropped: usize,
}

/// Collects all settings.
pub fn collect(machine: &Machine<'_>, outcome: &mut Outcome) -> Settings {
    let mut settings = Settings::default();
    settings.begin(Origin::Command);
    settings.seen_at = PathBuf::from("/proc/self/environ");
    for (name, value) in &machine.environment {
        settings.add(name.as_bytes(), value.as_bytes(), || String::from("the environment of this command"), None);
    }
    settings.end(Path::new("/proc/self/environ"), outcome);
    settings.begin(Origin::System);
    files::of_system(machine, &mut settings, outcome);
    systemd::of_system(machine, &mut settings, outcome);
    settings.end(Path::new("/etc"), outcome);
    for (number, home) in machine.homes.iter().enumerate() {
        settings.begin(Origin::Home(number));
        files::of_user(machine, home, &mut settings, outcome);
        systemd::of_user(machine, home, &mut settings, outcome);
        settings.end(home, outcome);
    }
    if !machine.is_image() {
        running::collect(&mut settings, outcome);
    }
    settings
}

impl Settings {
    /// Starts the settings of another origin.
    fn begin(&mut self, origin: Origin) {
        self.origin = origin;
        (self.left, self.room, self.dropped) = (MAX_TOTAL, MAX_SETTINGS, 0);
        self.named.clear();
    }

    /// Reports the settings that exceeded the limit.
    fn end(&mut self, path: &Path, outcome: &mut Outcome) {
        if self.dropped > 0 {
            let why = format!(
                "{} settings of variables, or files of them, were not examined: there are more than {MAX_SETTINGS} \
                 different ones (of files {MAX_NAMED}), or they are longer than {} KiB",
                self.dropped,
                MAX_VALUE >> 10
            );
            outcome.not_seen(Unseen::new(path, why));
        }
    }

    /// Records a setting, if its variable matters.
    fn add(&mut self, name: &[u8], value: &[u8], place: impl FnOnce() -> String, file: Option<(&Path, u64)>) {
        let Some(variable) = std::str::from_utf8(name).ok().and_then(Variable::named) else { return };
        let key = match variable.switch(value) {
            // There are only a few of these, and they always have room: their effect does not depend on the value.
            Some(true) => Vec::new(),
            Some(false) => return,
            None if value.len() > MAX_VALUE => {
                self.dropped += 1;
                return;
            }
            None => value.to_owned(),
        };
        let is_switch = variable.switch(value).is_some();
        let key = (variable.name, key);
        let file = file.map(|(path, line)| (path.to_owned(), line));
        if let Some(known) = self.known.get(&key).and_then(|place| self.all.get_mut(*place)) {
            known.add(self.origin, place);
            known.file = known.file.take().or(file);
            return;
        }
        if !is_switch {
            let Some(room) = self.room.checked_sub(1) else {
                self.dropped += 1;
                return;
            };
            self.room = room;
        }
        self.known.insert(key, self.all.len());
        let value = value.get(..MAX_VALUE).unwrap_or(value).to_owned();
        let origin = self.origin;
        let seen_at = file.as_ref().map_or_else(|| self.seen_at.clone(), |(path, _)| path.clone());
        let places = Facts::default();
        let mut setting = Setting { variable, value, places, file, seen_at, origin, last: (origin, 0) };
        setting.add(origin, place);
        self.all.push(setting);
    }

    /// Whether a file named by a unit should be read: each only once, and within the limit.
    fn is_new(&mut self, path: &Path) -> bool {
        let is_new = !self.named.contains(path);
        if is_new && self.named.len() == MAX_NAMED {
            self.dropped += 1;
            return false;
        }
        is_new && self.named.insert(path.to_owned())
    }

    /// Records an assignment in a file. Values that need expansion (`$HOME/ca.pem`, `%h/ca.pem`) are skipped.
    fn add_line(&mut self, name: &[u8], value: &[u8], file: &Path, line: u64) {
        if !value.iter().any(|byte| matches!(byte, b'$' | b'`' | b'%')) {
            self.add(name, value, || format!("{}, line {line}", file.display()), Some((file, line)));
        }
    }
}

impl Setting {
    /// Adds a place. Only a few are kept for each origin, to leave room for those of others.
    fn add(&mut self, origin: Origin, place: impl FnOnce() -> String) {
        let (last, count) = self.last;
        let count = if last == origin { count } else { 0 };
        self.last = (origin, count + 1);
        if count < MAX_PLACES { self.places.add(place()) } else { self.places.more += 1 }
    }

    /// The first and the last origin that set the value.
    pub fn origins(&self) -> [Origin; 2] {
        [self.origin, self.last.0]
    }

    /// The places as details.
    fn places(&self) -> impl Iterator<Item = String> {
        let more = self.places.more;
        let rest = (more > 0).then(|| format!("and {more} times more"));
        self.places.shown.iter().map(|place| format!("set in {place}")).chain(rest)
    }

    /// `NAME=value`.
    pub fn assignment(&self) -> String {
        format!("{}={}", self.variable.name, String::from_utf8_lossy(&self.value))
    }

    /// A finding about it, at the first file that sets it.
    pub fn finding(&self, severity: Severity, what: String) -> Finding {
        let finding = match &self.file {
            Some((path, line)) => Finding::new(severity, path, what).at_line(Some(*line)),
            None => Finding::of_machine(severity, what).seen_at(&self.seen_at),
        };
        finding.about([self.assignment()]).facts(self.places())
    }

    /// The value as a path.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    fn of_two_users(first: &str, second: &str) -> (Settings, Outcome) {
        let image = Image::healthy();
        image.write("etc/passwd", "a:x:1:1::/home/a:/bin/sh\nb:x:2:2::/home/b:/bin/sh\n");
        image.write("home/a/.profile", first);
        image.write("home/b/.profile", second);
        let machine = Machine::new(Some(image.root()), &[], false);
        let mut outcome = Outcome::default();
        (collect(&machine, &mut outcome), outcome)
    }

    #[test]
    fn one_user_hides_nothing_of_another() {
        let many: String = (0..1000).map(|number| format!("SSL_CERT_FILE=/{number}\n")).collect();
        let (settings, outcome) = of_two_users(
            &many,
            "SSL_CERT_FILE=/b\nexport NODE_TLS_REJECT_UNAUTHORIZED=0\nexport NODE_TLS_REJECT_UNAUTHORIZED=1\n",
        );
        let of = |home| settings.all.iter().filter(move |setting| setting.origin == Origin::Home(home));
        assert_eq!((of(0).count(), of(1).count()), (MAX_SETTINGS, 2));
        assert_eq!(outcome.unseen.shown().len(), 1);
        let unseen = &outcome.unseen.shown()[0];
        assert!(unseen.path == Path::new("/home/a") && unseen.why.starts_with("900 settings "), "{unseen:?}");
    }

    #[test]
    fn a_switch_always_has_room_and_each_user_is_named() {
        let many: String = (0..1000).map(|number| format!("GIT_SSL_NO_VERIFY={number}\n")).collect();
        let full: String = (0..1000).map(|number| format!("SSL_CERT_FILE=/{number}\n")).collect();
        let (settings, _) = of_two_users(&(full + &many), "GIT_SSL_NO_VERIFY=1\n");
        let switch: Vec<_> = settings.all.iter().filter(|one| one.variable.name == "GIT_SSL_NO_VERIFY").collect();
        assert_eq!(switch.len(), 1);
        let places = &switch[0].places;
        assert_eq!((places.shown.len(), places.more), (MAX_PLACES + 1, 1000 - MAX_PLACES));
        assert_eq!(places.shown.last().unwrap(), "/home/b/.profile, line 1");
    }

    #[test]
    fn a_long_value_is_told_not_kept() {
        let (settings, outcome) = of_two_users(&format!("SSL_CERT_DIR=/{}\n", "x".repeat(MAX_VALUE)), "");
        assert!(settings.all.is_empty() && outcome.unseen.count() == 1, "{:?}", outcome.unseen);
    }
}
