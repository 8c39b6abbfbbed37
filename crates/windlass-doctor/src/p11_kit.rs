//! The PKCS#11 modules that p11-kit loads into programs: pkcs11.conf(5), and p11-kit/conf.c for the merging of files
//! with the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use windlass_machine::places::{Place, PlaceKind};

use super::check::Outcome;
use super::machine::{Machine, Target};

/// In bytes. No configuration is larger.
const MAX_CONFIGURATION: u64 = 64 << 10;

/// All `.module` files, lowest priority first: packages', the administrator's, users'.
#[derive(Debug)]
pub struct Configuration<'a> {
    files: Vec<File<'a>>,
}

#[derive(Debug)]
struct File<'a> {
    place: &'a Place,
    /// The home of the file's user; None for a system file.
    home: Option<&'a Path>,
    settings: BTreeMap<String, String>,
}

/// A module, merged from all files of its name.
#[derive(Debug)]
pub struct Module<'a> {
    /// The file that names the library.
    pub place: &'a Place,
    settings: BTreeMap<String, String>,
}

impl<'a> Configuration<'a> {
    /// Reads the configuration files of all modules.
    pub fn read(machine: &'a Machine<'_>, outcome: &mut Outcome) -> Configuration<'a> {
        let mut files = Vec::new();
        for place in machine.places().iter().filter(|place| place.kind == PlaceKind::P11KitModule) {
            let Some(content) = outcome.seen(machine.read(&place.path, MAX_CONFIGURATION)) else { continue };
            let homes = machine.homes.iter().map(PathBuf::as_path).filter(|home| place.path.starts_with(home));
            let home = homes.max_by_key(|home| home.as_os_str().len());
            files.push(File { place, home, settings: settings(&String::from_utf8_lossy(&content.bytes)) });
        }
        Configuration { files }
    }

    /// The homes with files of their own.
    pub fn homes(&self) -> BTreeSet<&'a Path> {
        self.files.iter().filter_map(|file| file.home).collect()
    }

    /// The modules that p11-kit loads for everybody, or for the user with this home.
    pub fn modules(&self, home: Option<&Path>) -> Vec<Module<'a>> {
        let mut by_name: BTreeMap<Option<&OsStr>, Module<'a>> = BTreeMap::new();
        for file in self.files.iter().filter(|file| file.home.is_none() || file.home == home) {
            let new = || Module { place: file.place, settings: BTreeMap::new() };
            let module = by_name.entry(file.place.path.file_name()).or_insert_with(new);
            // A setting missing in one file is taken from the file before (`_p11_conf_merge_defaults`).
            module.settings.extend(file.settings.clone());
            if file.settings.contains_key("module") {
                module.place = file.place;
            }
        }
        by_name.into_values().filter(Module::is_loaded).collect()
    }
}

impl Module<'_> {
    /// A setting, with surrounding blanks removed.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// The library, as written.
    pub fn named(&self) -> &str {
        self.value("module").unwrap_or_default()
    }

    /// Whether it says which certificates are trusted.
    pub fn has_trust(&self) -> bool {
        self.value("trust-policy").is_some_and(|value| value.eq_ignore_ascii_case("yes"))
    }

    /// Whether only some programs load it. p11-kit's proxy is not a program: it lets programs load all modules as one.
    pub fn is_limited(&self) -> bool {
        let programs = self.value("disable-in").unwrap_or_default().split([',', ' ', '\t']);
        self.value("enable-in").is_some() || programs.into_iter().any(|name| !matches!(name, "" | "p11-kit-proxy"))
    }

    /// The path of the module's library, if it exists.
    pub fn library(&self, machine: &Machine<'_>) -> Option<PathBuf> {
        let is_file = |path: &PathBuf| matches!(machine.look(path), Ok(Target::File(_)));
        let named = Path::new(self.named());
        let directories = if named.is_absolute() { vec![PathBuf::from("/")] } else { directories(machine) };
        directories.into_iter().map(|directory| directory.join(named)).find(is_file)
    }

    /// A module without a library is ignored, and an empty `enable-in:` names no program that loads it.
    fn is_loaded(&self) -> bool {
        !self.named().is_empty() && self.value("enable-in") != Some("")
    }
}

/// The directories in which distributions' p11-kit looks for libraries named without a directory.
pub fn directories(machine: &Machine<'_>) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = ["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from).into();
    if let Ok((entries, _)) = machine.entries(Path::new("/usr/lib")) {
        let is_architecture = |name: &OsStr| name.to_str().is_some_and(|name| name.contains("-linux-"));
        directories.extend(entries.into_iter().filter(|entry| is_architecture(&entry.name)).map(|entry| entry.path));
    }
    directories.into_iter().map(|directory| directory.join("pkcs11")).collect()
}

/// If a file sets something twice, the last value counts.
fn settings(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}
