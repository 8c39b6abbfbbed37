//! The trust token (libwindlass_pkcs11.so) as it is set up here: the programs that load it, and the places that it
//! reads. adapters/pkcs11 decides that in each process; the code here follows its `places.rs`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tempfile::TempDir;
use windlass::{LoadError, TrustCache, Unsupported};
use windlass_trust::{TrustLocation, TrustStore, USUAL_PLACES, paths_argument};

use super::check::{Outcome, Unseen};
use super::machine::{MAX_FILE, Machine, Target};
use super::p11_kit::{Configuration, Module, directories};

const LIBRARY: &str = "libwindlass_pkcs11.so";
/// The subdirectories of a place that are also read.
const BELOW: [&str; 3] = ["anchors", "blocklist", "blacklist"];

/// The token with its places.
#[derive(Debug)]
pub struct Token {
    /// The file that makes p11-kit load it, or else the library.
    pub named_by: PathBuf,
    /// Whether p11-kit loads it and uses it as a source of trust.
    pub is_used: bool,
    /// Whether another module is used too.
    pub has_company: bool,
    /// The places that it reads, in order.
    pub places: Vec<PathBuf>,
    /// The origin of the list of places.
    pub origin: Origin,
    /// Usual places that exist, but are not read because of these.
    pub passed_over: Vec<PathBuf>,
}

/// The origin of a list of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The usual ones, as far as each calling program can see them.
    Usual,
    /// `paths=` in p11-kit's configuration names them; GnuTLS does not pass it to the token.
    Configuration,
    /// The same in homes: the places of the doctor's user.
    Home,
    /// `WINDLASS_TRUST_PATHS` in the doctor's environment.
    Environment,
}

impl Origin {
    /// Whether they come from p11-kit's configuration.
    pub fn is_configured(self) -> bool {
        matches!(self, Origin::Configuration | Origin::Home)
    }
}

impl Token {
    /// All tokens that p11-kit loads for everybody, or for the doctor's user; otherwise one that is only installed.
    pub fn all(machine: &Machine<'_>, outcome: &mut Outcome) -> Vec<Token> {
        let configuration = Configuration::read(machine, outcome);
        // p11-kit does not read root's home.
        let own = machine.homes.first().filter(|_| !machine.is_image() && !rustix::process::geteuid().is_root());
        let modules = configuration.modules(own.map(PathBuf::as_path));
        let is_token = |module: &&Module<'_>| module.library(machine).is_some_and(|path| is_token(machine, &path));
        let (tokens, others): (Vec<_>, Vec<_>) =
            modules.iter().filter(|module| module.has_trust()).partition(|module| is_token(module));
        let has_company = others.iter().any(|module| module.library(machine).is_some());
        let mut used: Vec<Token> = Vec::new();
        for module in &tokens {
            for reserved in [module.value("x-init-reserved").unwrap_or_default(), ""] {
                let token = Token::reading(machine, &module.place.path, reserved);
                if used.iter().all(|other| other.places != token.places) {
                    used.push(Token { is_used: true, has_company, ..token });
                }
            }
        }
        let installed = || {
            let paths = directories(machine).into_iter().map(|directory| directory.join(LIBRARY));
            let there = paths.into_iter().find(|path| matches!(machine.look(path), Ok(Target::File(_))));
            there.map(|path| Token::reading(machine, &path, ""))
        };
        if used.is_empty() { installed().into_iter().collect() } else { used }
    }

    fn reading(machine: &Machine<'_>, named_by: &Path, reserved: &str) -> Token {
        let mut token = Token {
            named_by: named_by.to_owned(),
            is_used: false,
            has_company: false,
            places: Vec::new(),
            origin: Origin::Usual,
            passed_over: Vec::new(),
        };
        let of_environment = || variable(machine, "WINDLASS_TRUST_PATHS").map(<[u8]>::to_vec);
        if let Some(paths) = paths_argument(reserved.as_bytes()) {
            token.origin = if paths.contains(&b'~') { Origin::Home } else { Origin::Configuration };
            token.places = listed(machine, &paths);
        } else if let Some(paths) = of_environment() {
            token.origin = Origin::Environment;
            token.places = listed(machine, &paths);
        } else {
            let is_there = |path: &&&str| {
                matches!(machine.look(Path::new(path)), Ok(Target::File(_) | Target::Directory | Target::Other))
            };
            let row = USUAL_PLACES
                .iter()
                .position(|row| row.iter().any(|path| is_there(&path)))
                .unwrap_or(USUAL_PLACES.len() - 1);
            token.places = USUAL_PLACES.iter().skip(row).take(1).copied().flatten().map(PathBuf::from).collect();
            token.passed_over =
                USUAL_PLACES.iter().skip(row + 1).copied().flatten().filter(is_there).map(PathBuf::from).collect();
        }
        token
    }
}

fn is_token(machine: &Machine<'_>, library: &Path) -> bool {
    machine.real(library).file_name().is_some_and(|name| name.as_bytes().starts_with(LIBRARY.as_bytes()))
}

/// The value of a variable, if it is set and not empty.
fn variable<'a>(machine: &'a Machine<'_>, name: &str) -> Option<&'a [u8]> {
    let value = machine.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes());
    value.filter(|value| !value.is_empty())
}

/// Paths separated by colons; those in a home are resolved for the doctor's user.
fn listed(machine: &Machine<'_>, paths: &[u8]) -> Vec<PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let expanded = |named: &[u8]| {
        let Some(below) = named.strip_prefix(b"~").filter(|below| matches!(below, [] | [b'/', ..])) else {
            return Some(path(named));
        };
        let below = path(below).components().skip(1).collect::<PathBuf>();
        let config =
            variable(machine, "XDG_CONFIG_HOME").and_then(|it| Some((it, below.strip_prefix(".config").ok()?)));
        match config {
            Some((config, below)) => Some(path(config).join(below)),
            None => variable(machine, "HOME").map(|home| path(home).join(&below)),
        }
    };
    paths.split(|byte| *byte == b':').filter(|path| !path.is_empty()).filter_map(expanded).collect()
}

/// The statements of a place, from the token's own reader; and the path that it can't read, as programs of the machine
/// name it. A path whose fault may be temporary counts as unexamined.
pub fn load(
    machine: &Machine<'_>,
    place: &Path,
    cache: &TrustCache,
) -> Result<(Arc<TrustStore>, Option<PathBuf>), Unseen> {
    let mirror = Mirror::of(machine, place)?;
    let store = TrustLocation::new(mirror.path.clone()).load(cache);
    let Some(error) = store.fault() else { return Ok((store, None)) };
    let path = match error.path().strip_prefix(&mirror.path) {
        Ok(below) if !below.as_os_str().is_empty() => place.join(below),
        _ => place.to_owned(),
    };
    if is_passing(error) {
        return Err(Unseen::new(&path, error.label()));
    }
    Ok((store, Some(path)))
}

/// Whether the cause is this process or the moment.
fn is_passing(error: &LoadError) -> bool {
    match error {
        LoadError::ChangedWhileReading { .. } | LoadError::Unsupported { what: Unsupported::OutOfMemory, .. } => true,
        LoadError::Io { errno, .. } => {
            [Errno::MFILE, Errno::NFILE, Errno::NOMEM].iter().any(|short| short.raw_os_error() == *errno)
        }
        _ => false,
    }
}

/// A place in a form that this process can read. Links of an image lead elsewhere here; for an image this is a
/// directory of links to the targets they have inside the image.
struct Mirror {
    path: PathBuf,
    _kept: Option<TempDir>,
}

impl Mirror {
    fn of(machine: &Machine<'_>, place: &Path) -> Result<Mirror, Unseen> {
        if !matches!(machine.look(place), Ok(Target::Directory)) {
            if let Ok(Target::File(metadata)) = machine.look(place) {
                check_size(place, metadata.len())?;
            }
            let path = machine.reach(place).map_err(|error| Unseen::new(place, error))?;
            return Ok(Mirror { path, _kept: None });
        }
        let kept = if machine.is_image() {
            Some(tempfile::tempdir().map_err(|error| Unseen::new(place, error))?)
        } else {
            None
        };
        let path = kept.as_ref().map_or_else(|| place.to_owned(), |kept| kept.path().to_owned());
        let below = BELOW.iter().map(|name| (place.join(name), path.join(name)));
        for (directory, to) in [(place.to_owned(), path.clone())].into_iter().chain(below) {
            let Ok(Target::Directory) = machine.look(&directory) else { continue };
            let mirrored = kept.as_ref().map(|_| &*to);
            mirror(machine, &directory, mirrored)?;
        }
        Ok(Mirror { path, _kept: kept })
    }
}

/// Files are read up to [`MAX_FILE`] here as everywhere; the token reads more.
fn mirror(machine: &Machine<'_>, directory: &Path, to: Option<&Path>) -> Result<(), Unseen> {
    let failed = |error: std::io::Error| Unseen::new(directory, error);
    if let Some(to) = to {
        std::fs::create_dir_all(to).map_err(failed)?;
    }
    let (entries, more) = match machine.entries(directory) {
        Ok(entries) => entries,
        // The token skips it, and so does this process; the users whom it is meant for may see more.
        Err(unseen) if to.is_some() => return Err(unseen),
        Err(_) => return Ok(()),
    };
    more.map_or(Ok(()), Err)?;
    for entry in entries {
        let Ok(Target::File(metadata)) = machine.look(&entry.path) else { continue };
        check_size(&entry.path, metadata.len())?;
        if let Some(to) = to {
            let reached = machine.reach(&entry.path).map_err(failed)?;
            symlink(reached, to.join(&entry.name)).map_err(failed)?;
        }
    }
    Ok(())
}

fn check_size(path: &Path, size: u64) -> Result<(), Unseen> {
    if size > MAX_FILE { Err(Unseen::new(path, format!("larger than {} MiB", MAX_FILE >> 20))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn paths_of_a_user_and_of_the_environment() {
        let image = Image::bare();
        let mut machine = Machine::new(Some(image.root()), &[], false);
        let of = |machine: &Machine<'_>, reserved: &str| Token::reading(machine, Path::new("/m"), reserved).places;
        assert_eq!(of(&machine, ""), [Path::new("/etc/ssl/certs/ca-certificates.crt")]);
        assert_eq!(of(&machine, "paths='/a:~/b' verbose=yes"), [Path::new("/a")]);
        let set = [("HOME", "/home/me"), ("WINDLASS_TRUST_PATHS", "/c:~/.config/d:/e")];
        machine.environment = set.map(|(name, value)| (name.into(), value.into())).into();
        assert_eq!(of(&machine, "paths=~/b:~:~you/c"), ["/home/me/b", "/home/me", "~you/c"].map(PathBuf::from));
        assert_eq!(of(&machine, ""), ["/c", "/home/me/.config/d", "/e"].map(PathBuf::from));
        machine.environment.push(("XDG_CONFIG_HOME".into(), "/x".into()));
        assert_eq!(of(&machine, "")[1], Path::new("/x/d"));
    }
}
