//! Where trust lies on a machine: the TLS libraries' own places, and the private ones of languages, browsers and
//! programs.
//!
//! Nothing is opened here but directories, and the module that says where certifi's bundle is. What was found may lie
//! in another user's home, so whoever reads it treats it as hostile. Not here, because there is nothing to find: the
//! roots that are compiled into Node.js (it reads a file only for `NODE_EXTRA_CA_CERTS` and `--use-openssl-ca`), and
//! Go, which reads the places of the system (crypto/x509, root_linux.go).

pub mod certificate;
mod environments;
pub mod hash_name;
pub mod known_paths;
pub mod read;
pub mod sources;
pub mod superfluous;
mod tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_libcrypto::Libcrypto;

use known_paths::{ENVIRONMENT, Family, HOME, MACHINE, Pattern};
use serde::Serialize;
use tree::{ENTRIES, Tree};
use windlass::compiled::Root;

/// What kind of thing holds trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceKind {
    /// A file of PEM certificates that the TLS libraries of the system use.
    Cafile,
    /// A directory of files named by subject hash that the TLS libraries of the system use.
    Capath,
    /// The PEM file of certifi, or of another Python package that carries its own.
    CertifiBundle,
    /// A PEM file that another program or package carries: a gem, conda, curl.
    PrivateBundle,
    /// A Java keystore (JKS or PKCS#12) of trusted certificates.
    JavaKeystore,
    /// The cert9.db of an NSS database.
    NssDatabase,
    /// A directory of .NET's X.509 stores, with one PKCS#12 file for each certificate.
    DotnetStore,
    /// A `.module` file, which makes p11-kit load a PKCS#11 module.
    P11KitModule,
    /// A directory or file that p11-kit's trust module reads.
    P11KitTrust,
}

/// A place that holds trust, and is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// As programs name it: in an image, a path in its root.
    pub path: PathBuf,
    /// What it is.
    pub kind: PlaceKind,
    /// Who uses it, as "OpenSSL's default" or "certifi of /usr/lib/python3/dist-packages".
    pub why: String,
}

impl Place {
    /// The path by which this process reaches it, all links followed.
    pub fn here(&self, root: &Path) -> PathBuf {
        Tree::new(root).real(&self.path).unwrap_or_else(|| self.path.clone())
    }
}

/// How many directory entries are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many in each home: a home is as large as its owner likes, and nobody uses up what is for another.
    EachHome,
    /// So many in all: homes and all else were made by one, who may give himself any number of homes.
    Shared,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Search {
    /// In the order of the kinds.
    pub places: Vec<Place>,
    /// Homes that have more entries than were looked at.
    pub homes_cut: usize,
}

/// All that is there, in the order of the kinds; what is known by several names counts once, by its first (but the
/// sources of the TLS libraries by each, as programs cache by name). `root` is `/` or the root directory of an image,
/// `homes` are paths in it.
pub fn known(root: &Path, homes: &[PathBuf]) -> Vec<Place> {
    search(root, homes, Room::EachHome).places
}

/// The same, with what was too much to be looked at.
pub fn search(root: &Path, homes: &[PathBuf], room: Room) -> Search {
    search_in(&Tree::of(root, ENTRIES), homes, room)
}

fn search_in(tree: &Tree<'_>, homes: &[PathBuf], room: Room) -> Search {
    let mut found = Found { tree, all: system(tree), seen: BTreeSet::new() };
    found.look(Path::new("/"), MACHINE);
    let mut homes_cut = 0;
    for home in homes {
        if room == Room::EachHome {
            tree.refill();
        }
        found.look(home, HOME);
        for environment in environments::virtual_environments(tree, home) {
            found.look(&environment, ENVIRONMENT);
        }
        homes_cut += usize::from(tree.is_spent());
    }
    let mut places = found.all;
    // Stable: within a kind the order stays.
    places.sort_by_key(|place| place.kind);
    Search { places, homes_cut }
}

/// What OpenSSL and GnuTLS use by default.
fn system(tree: &Tree) -> Vec<Place> {
    let root = tree.image();
    // The libcryptos of this machine say nothing about an image.
    let libcryptos = if root.is_none() { Libcrypto::all() } else { Vec::new() };
    let defaults = sources::defaults(&libcryptos, Root(root)).into_iter();
    let places = defaults.map(|candidate| {
        let (kind, path) = match candidate.source {
            windlass::Source::Cafile(path) => (PlaceKind::Cafile, path),
            windlass::Source::Capath(path) => (PlaceKind::Capath, path),
        };
        Place { path, kind, why: candidate.reason }
    });
    places.filter(|place| tree.exists(&place.path)).collect()
}

struct Found<'a> {
    tree: &'a Tree<'a>,
    all: Vec<Place>,
    /// Kind and real path, so that links to one file are one place.
    seen: BTreeSet<(PlaceKind, PathBuf)>,
}

impl Found<'_> {
    fn look(&mut self, base: &Path, families: &[Family]) {
        for family in families {
            let prefixes = family.prefixes.iter().flat_map(|prefix| self.tree.expand(base, prefix)).collect::<Vec<_>>();
            for prefix in prefixes {
                for pattern in family.patterns {
                    self.tree.expand(&prefix, pattern.path).iter().for_each(|path| self.add(path, pattern));
                }
            }
        }
    }

    /// Debian and Fedora keep the file of certifi, but make `certifi.where()` (core.py) name the system's bundle:
    /// nobody uses it.
    fn leads_to_system(&self, bundle: &Path) -> bool {
        let is_quoted = |text: &[u8]| text.windows(6).any(|window| matches!(window, b"'/etc/" | b"\"/etc/"));
        self.tree.read(&bundle.with_file_name("core.py")).is_some_and(|text| is_quoted(&text))
    }

    fn add(&mut self, path: &Path, pattern: &Pattern) {
        let Some(real) = self.tree.real(path) else { return };
        let kind = pattern.kind;
        if kind == PlaceKind::CertifiBundle && self.leads_to_system(path) {
            return;
        }
        let is_source = matches!(kind, PlaceKind::Cafile | PlaceKind::Capath);
        let known_by_name = || self.all.iter().any(|place| place.kind == kind && place.path == path);
        let is_new = if is_source { !known_by_name() } else { self.seen.insert((kind, real)) };
        if is_new {
            self.all.push(Place { path: path.to_owned(), kind, why: pattern.why_of(path) });
        }
    }
}

#[cfg(test)]
mod tests;
