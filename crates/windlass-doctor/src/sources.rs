//! The sources of trust that TLS libraries use by default.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use windlass::Source;
use windlass_machine::anchors::name::hex;
use windlass_machine::places::known_paths::USUAL_DIRECTORIES;
use windlass_machine::places::sources::{defaults, without_date};

use super::bundle::Bundle;
use super::certificate::{Fingerprint, SourceCertificate};
use super::check::{Finding, Severity, Unseen, counted};
use super::directory::Directory;
use super::machine::{Machine, Target};

/// The default sources, each once, even if it has several names.
#[derive(Debug)]
pub struct Sources {
    /// PEM files.
    pub bundles: Vec<Bundle>,
    /// Hashed directories.
    pub directories: Vec<Directory>,
    /// Paths that OpenSSL uses together.
    pub pairs: Vec<Pair>,
    /// A libcrypto of an image that has none of the usual pairs.
    pub lonely: Option<PathBuf>,
    /// Existing paths that could not be read.
    unseen: Vec<Unseen>,
}

/// The two default paths of an OpenSSL. Either may be missing; both may be if a libcrypto of this machine names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The OpenSSL that uses them: `OpenSSL 3.0.22`, or only `OpenSSL`.
    pub whose: String,
    /// `cert.pem` in OPENSSLDIR.
    pub file: PathBuf,
    /// `certs` in OPENSSLDIR.
    pub directory: PathBuf,
}

impl Sources {
    /// Reads all sources of the machine.
    pub fn read(machine: &Machine<'_>) -> Sources {
        let pairs = pairs(machine);
        let lonely = if pairs.is_empty() { libcrypto(machine) } else { None };
        let mut sources = Sources { bundles: Vec::new(), directories: Vec::new(), pairs, lonely, unseen: Vec::new() };
        for candidate in defaults(machine.libcryptos, machine.root) {
            let path = candidate.source.path();
            match (machine.look(path), &candidate.source) {
                (Ok(Target::File(_)), Source::Cafile(_)) => sources.add_bundle(machine, path, &candidate.reason),
                (Ok(Target::Directory), Source::Capath(_)) => sources.add_directory(machine, path),
                // A missing path, or one of another kind, is a fault rather than unexamined.
                (Ok(_), _) => {}
                (Err(unseen), _) => sources.unseen.push(unseen),
            }
        }
        let is_nothing = sources.bundles.is_empty() && sources.directories.is_empty() && sources.unseen.is_empty();
        if is_nothing && sources.pairs.is_empty() && sources.lonely.is_none() {
            let why = "nothing was found to examine: no libcrypto, and none of the usual sources of trust";
            sources.unseen.push(Unseen::new(Path::new("/"), why));
        }
        sources
    }

    fn add_bundle(&mut self, machine: &Machine<'_>, path: &Path, reason: &str) {
        let real = machine.real(path);
        if self.bundles.iter().all(|known| known.real != real) {
            match Bundle::read(machine, path, reason) {
                Ok(bundle) => self.bundles.push(bundle),
                Err(unseen) => self.unseen.push(unseen),
            }
        }
    }

    fn add_directory(&mut self, machine: &Machine<'_>, path: &Path) {
        let real = machine.real(path);
        if self.directories.iter().all(|known| known.real != real) {
            match Directory::read(machine, path) {
                Ok(directory) => self.directories.push(directory),
                Err(unseen) => self.unseen.push(unseen),
            }
        }
    }

    /// The bundle that this path leads to.
    pub fn bundle(&self, machine: &Machine<'_>, path: &Path) -> Option<&Bundle> {
        let real = machine.real(path);
        self.bundles.iter().find(|bundle| bundle.real == real)
    }

    /// The hashed directory that this path leads to.
    pub fn directory(&self, machine: &Machine<'_>, path: &Path) -> Option<&Directory> {
        let real = machine.real(path);
        self.directories.iter().find(|directory| directory.real == real)
    }

    /// The paths that could not be examined.
    pub fn unseen(&self) -> impl Iterator<Item = &Unseen> {
        self.unseen.iter().chain(self.directories.iter().flat_map(|directory| &directory.unseen))
    }
}

/// The certificates of one source, each with its position.
#[derive(Debug)]
pub struct Holding<'s> {
    /// The path, with links resolved.
    pub path: &'s Path,
    /// Whether OpenSSL loads all of it for each context.
    pub is_bundle: bool,
    /// Whether libcrypto may parse it.
    pub is_ours: bool,
    /// The certificates in source order, with positions such as `line 12` or `5ad8a5d6.0`.
    pub certificates: Vec<(String, &'s SourceCertificate)>,
    /// For a directory: certificates that were already reported for a bundle that also holds them.
    told: Rc<BTreeSet<Fingerprint>>,
}

impl Sources {
    /// The certificates that TLS libraries find in each source, and trust.
    pub fn holdings(&self) -> impl Iterator<Item = Holding<'_>> {
        let told: Rc<BTreeSet<_>> =
            Rc::new(self.bundles.iter().flat_map(|bundle| bundle.contents.fingerprints()).collect());
        let bundles = self.bundles.iter().map(|bundle| Holding {
            told: Rc::default(),
            path: &bundle.real,
            is_bundle: true,
            is_ours: bundle.is_ours,
            certificates: bundle
                .contents
                .trusted()
                .map(|placed| (format!("line {}", placed.line), &placed.certificate))
                .collect(),
        });
        let directories = self.directories.iter().map(move |directory| Holding {
            told: Rc::clone(&told),
            path: &directory.real,
            is_bundle: false,
            is_ours: directory.reached().all(|item| item.file().is_none_or(|file| file.is_ours)),
            certificates: directory.found().map(|(item, placed)| (item.name(), &placed.certificate)).collect(),
        });
        bundles.chain(directories)
    }
}

impl Holding<'_> {
    /// A finding about the certificates that match, and were not reported for another source: `3 certificates` and
    /// `what`, a detail for each, and the cost of loading them, if it arises for each context.
    pub fn finding(
        &self,
        machine: &Machine<'_>,
        severity: Severity,
        what: &str,
        is: impl Fn(&SourceCertificate) -> bool,
        tell: impl Fn(&SourceCertificate) -> String,
    ) -> Option<Finding> {
        let is_new = |certificate: &SourceCertificate| !self.told.contains(&certificate.fingerprint);
        let found: Vec<_> =
            self.certificates.iter().filter(|(_, certificate)| is_new(certificate) && is(certificate)).collect();
        if found.is_empty() {
            return None;
        }
        let ders: Vec<&[u8]> = found.iter().map(|(_, certificate)| &*certificate.der).collect();
        let is_measured = self.is_bundle && self.is_ours;
        let cost = if is_measured { machine.measure.load_certificates(&ders) } else { None };
        let count = counted(found.len(), ["certificate", "certificates"]);
        Some(
            Finding::new(severity, self.path, format!("{count} {what}"))
                .about(found.iter().map(|(_, certificate)| hex(&certificate.fingerprint)))
                .facts(found.iter().map(|(place, certificate)| format!("{place}: {}", tell(certificate))))
                .cost(cost),
        )
    }
}

/// The dynamic linker's directories; below them are those of architectures (`x86_64-linux-gnu`).
const LIBRARIES: [&str; 6] = ["/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/local/lib64"];

/// A libcrypto of an image.
fn libcrypto(machine: &Machine<'_>) -> Option<PathBuf> {
    let names = |directory: &Path| machine.entries(directory).map(|(entries, _)| entries).unwrap_or_default();
    let is_one = |name: &[u8]| name.starts_with(b"libcrypto.so");
    let in_directory = |directory: &Path| {
        names(directory).into_iter().find(|entry| is_one(entry.name.as_bytes())).map(|entry| entry.path)
    };
    LIBRARIES.iter().map(Path::new).filter(|_| machine.is_image()).find_map(|directory| {
        let is_architecture = |name: &[u8]| name.windows(7).any(|part| part == b"-linux-");
        let below = names(directory).into_iter().filter(|entry| is_architecture(entry.name.as_bytes()));
        in_directory(directory).or_else(|| below.map(|entry| entry.path).find_map(|path| in_directory(&path)))
    })
}

/// The pairs of this machine's libcryptos. An image's libcrypto can't be asked: there, the usual values of OPENSSLDIR.
fn pairs(machine: &Machine<'_>) -> Vec<Pair> {
    let of_libcryptos = machine.libcryptos.iter().filter(|_| machine.asks_libcryptos).map(|libcrypto| Pair {
        whose: without_date(libcrypto),
        file: libcrypto.default_file().into(),
        directory: libcrypto.default_directory().into(),
    });
    let mut candidates: Vec<_> = of_libcryptos.collect();
    let is_named = !candidates.is_empty();
    if !is_named {
        let usual = USUAL_DIRECTORIES.map(Path::new).into_iter().map(|directory| Pair {
            whose: String::from("OpenSSL"),
            file: directory.join("cert.pem"),
            directory: directory.join("certs"),
        });
        candidates = usual.collect();
    }
    let is_there = |path: &Path| !matches!(machine.look(path), Ok(Target::Nothing));
    let mut all: Vec<Pair> = Vec::new();
    for pair in candidates {
        let real = |pair: &Pair| (machine.real(&pair.file), machine.real(&pair.directory));
        let is_known = match (is_there(&pair.file), is_there(&pair.directory)) {
            // If a libcrypto of this machine was built for a missing OPENSSLDIR, it has no default sources at all.
            (false, false) => !is_named || all.iter().any(|known| known.file == pair.file),
            // /etc/ssl/certs is the target of /usr/lib/ssl/certs, and not an OPENSSLDIR of its own.
            (false, true) => all.iter().any(|known| real(known).1 == real(&pair).1),
            (true, _) => all.iter().any(|known| real(known) == real(&pair)),
        };
        if !is_known {
            all.push(pair);
        }
    }
    all
}
