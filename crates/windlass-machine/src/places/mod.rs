//! The places of trust on a machine: those of the TLS libraries, and the private ones of languages, browsers and
//! programs.
//!
//! This module opens only directories, and the Python module that names certifi's bundle. Places may lie in another
//! user's home, and readers must treat them as hostile. Two are not listed, because there is nothing to find: the roots
//! compiled into Node.js (it reads a file only for `NODE_EXTRA_CA_CERTS` and `--use-openssl-ca`), and Go, which reads
//! the system's places (crypto/x509, root_linux.go).

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

/// The kind of a place.
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

/// An existing place of trust.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The path by which programs name it: in an image, a path in its root.
    pub path: PathBuf,
    /// The kind of place.
    pub kind: PlaceKind,
    /// The program that uses it, such as "OpenSSL's default" or "certifi of /usr/lib/python3/dist-packages".
    pub why: String,
}

impl Place {
    /// The path by which this process reaches it, with all links followed.
    pub fn here(&self, root: &Path) -> PathBuf {
        Tree::new(root).real(&self.path).unwrap_or_else(|| self.path.clone())
    }
}

/// The limit on directory entries that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A limit for each home: a home can be arbitrarily large, and must not use up the share of another.
    EachHome,
    /// One limit for everything: homes and all else have a single author, who could add any number of homes.
    Shared,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Search {
    /// The places, in the order of the kinds.
    pub places: Vec<Place>,
    /// The number of homes with more entries than were read.
    pub homes_cut: usize,
}

/// All existing places, in the order of the kinds. A place with several names counts once, under the first; sources of
/// the TLS libraries count under each name, because programs cache by name. `root` is `/` or the root directory of an
/// image, `homes` are paths in it.
pub fn known(root: &Path, homes: &[PathBuf]) -> Vec<Place> {
    search(root, homes, Room::EachHome).places
}

/// The same, and the number of homes that were too large.
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
    // The sort is stable: within a kind, the order is kept.
    places.sort_by_key(|place| place.kind);
    Search { places, homes_cut }
}

/// The default sources of OpenSSL and GnuTLS.
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
    /// Kind and real path, which make links to one file one place.
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

    /// Debian and Fedora keep certifi's file, but make `certifi.where()` (core.py) name the system's bundle: nobody
    /// uses the file.
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
