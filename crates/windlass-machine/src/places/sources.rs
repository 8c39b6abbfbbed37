//! The sources to compile: those that the user named, or the defaults of this machine's TLS libraries.

use std::path::{Path, PathBuf};

use windlass::Source;
use windlass::compiled::{Last, Root};
use windlass_libcrypto::Libcrypto;

use super::known_paths::{DEBIAN_BUNDLE, ELSEWHERE, USUAL_DIRECTORIES};

/// No chain of links between directories of a distribution is longer.
const MAX_NAMES: usize = 8;

/// A source to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The source, by the path that programs use.
    pub source: Source,
    /// The reason, as a clause.
    pub reason: String,
    /// Whether the user named it: if so, a failure to compile it is reported.
    pub named: bool,
}

/// The sources that the user named. Programs find a compiled store by their own path of the source: an absolute path is
/// kept byte for byte.
pub fn named(paths: &[PathBuf], root: Root<'_>) -> std::io::Result<Vec<Candidate>> {
    let mut all: Vec<Candidate> = Vec::new();
    for path in paths {
        let path = match root.0 {
            _ if path.is_absolute() => path.clone(),
            Some(_) => Path::new("/").join(path),
            None => std::path::absolute(path)?,
        };
        let is_directory = root.reach(&path, Last::Followed).is_ok_and(|path| path.is_dir());
        let source = if is_directory { Source::Capath(path) } else { Source::Cafile(path) };
        if all.iter().all(|known| known.source != source) {
            all.push(Candidate { source, reason: String::from("named on the command line"), named: true });
        }
    }
    Ok(all)
}

/// The default sources of OpenSSL and GnuTLS, under each of the names by which programs use them.
pub fn defaults(libcryptos: &[Libcrypto], root: Root<'_>) -> Vec<Candidate> {
    let mut defaults = Defaults { root, all: Vec::new() };
    for libcrypto in libcryptos {
        defaults.add(Source::Cafile, libcrypto.default_file(), &format!("default file of {}", without_date(libcrypto)));
    }
    // An image's libcrypto can't be asked, and a machine may have none.
    let usual = if root.0.is_some() || libcryptos.is_empty() { &USUAL_DIRECTORIES[..] } else { &[] };
    for directory in usual {
        defaults.add_existing(Source::Cafile, &Path::new(directory).join("cert.pem"), "usual default file of OpenSSL");
    }
    defaults.add(Source::Cafile, Path::new(DEBIAN_BUNDLE), "default file of GnuTLS on Debian");
    for file in ELSEWHERE {
        defaults.add_existing(Source::Cafile, Path::new(file), "default file elsewhere");
    }
    for libcrypto in libcryptos {
        let reason = format!("default directory of {}", without_date(libcrypto));
        defaults.add(Source::Capath, libcrypto.default_directory(), &reason);
    }
    for directory in usual {
        defaults.add_existing(
            Source::Capath,
            &Path::new(directory).join("certs"),
            "usual default directory of OpenSSL",
        );
    }
    defaults.all
}

/// The name of a kind of source, as in all JSON output.
pub fn kind(source: &Source) -> &'static str {
    match source {
        Source::Cafile(_) => "cafile",
        Source::Capath(_) => "capath",
    }
}

/// The version of a libcrypto, `OpenSSL 3.0.22 25 Aug 2026`, without the date.
pub fn without_date(libcrypto: &Libcrypto) -> String {
    libcrypto.version().split(' ').take(2).collect::<Vec<_>>().join(" ")
}

struct Defaults<'a> {
    root: Root<'a>,
    all: Vec<Candidate>,
}

impl Defaults<'_> {
    fn add_existing(&mut self, kind: fn(PathBuf) -> Source, path: &Path, reason: &str) {
        if self.root.reach(path, Last::Followed).is_ok_and(|path| path.exists()) {
            self.add(kind, path, reason);
        }
    }

    /// Adds a path, and the target if it is a link: programs use either.
    fn add(&mut self, kind: fn(PathBuf) -> Source, path: &Path, reason: &str) {
        let (mut path, mut reason) = (path.to_owned(), reason.to_owned());
        for _ in 0..MAX_NAMES {
            let source = kind(path.clone());
            if self.all.iter().all(|known| known.source != source) {
                self.all.push(Candidate { source, reason, named: false });
            }
            let Some(target) = self.root.target(&path) else { return };
            reason = format!("what {} is a link to", path.display());
            path = target;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn all_names_of_a_default_are_compiled() {
        let image = tempfile::tempdir().unwrap();
        let root = image.path();
        for directory in ["etc/pki/tls/certs", "etc/pki/ca-trust/extracted/pem"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"), "").unwrap();
        let bundle = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";
        symlink(bundle, root.join("etc/pki/tls/certs/ca-bundle.crt")).unwrap();
        symlink("certs/ca-bundle.crt", root.join("etc/pki/tls/cert.pem")).unwrap();

        let all = defaults(&[], Root(Some(root)));
        let names: Vec<_> = all.iter().map(|candidate| candidate.source.clone()).collect();
        let file = |path: &str| Source::Cafile(path.into());
        let expected = [
            file("/etc/pki/tls/cert.pem"),
            file("/etc/pki/tls/certs/ca-bundle.crt"),
            file(bundle),
            file(DEBIAN_BUNDLE),
            Source::Capath("/etc/pki/tls/certs".into()),
        ];
        assert_eq!(names, expected);
        assert_eq!(all[1].reason, "what /etc/pki/tls/cert.pem is a link to");
    }

    #[test]
    fn a_named_path_stays_as_it_is() {
        let root = Root(None);
        let paths = |all: &[&str]| {
            let named = named(&all.iter().map(PathBuf::from).collect::<Vec<_>>(), root).unwrap();
            named.into_iter().map(|candidate| candidate.source).collect::<Vec<_>>()
        };
        let odd = "/etc//no/../such/./file.pem";
        let [Source::Cafile(path)] = &paths(&[odd])[..] else { panic!("one file") };
        assert_eq!(path.as_os_str(), odd);
        let here = std::env::current_dir().unwrap();
        assert_eq!(paths(&["x.pem", "./x.pem"]), [Source::Cafile(here.join("x.pem"))]);
        assert_eq!(paths(&["/"]), [Source::Capath("/".into())]);
        let relative = named(&["x.pem".into()], Root(Some(Path::new("/image")))).unwrap();
        assert_eq!(relative[0].source, Source::Cafile("/x.pem".into()));
    }
}
