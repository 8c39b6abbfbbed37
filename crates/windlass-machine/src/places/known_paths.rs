//! The one table of the places of trust on each distribution. `*` stands for any part of one name.

use std::path::Path;

pub use windlass::BUNDLES;

use super::PlaceKind::{self, *};

/// OPENSSLDIR of common builds, for machines without an `openssl` command: Debian, Alpine and Arch, Fedora, and builds
/// from source with the two defaults of OpenSSL.
pub const USUAL_DIRECTORIES: [&str; 5] =
    ["/usr/lib/ssl", "/etc/ssl", "/etc/pki/tls", "/usr/local/ssl", "/usr/local/lib/ssl"];

/// The bundle that `update-ca-certificates` writes on Debian, Ubuntu and Alpine. It is also the file of
/// `gnutls_certificate_set_x509_system_trust` where GnuTLS is built to use a file, as it is on these.
pub const DEBIAN_BUNDLE: &str = BUNDLES[0];
/// The configuration of that command.
pub const DEBIAN_CONFIGURATION: &str = "/etc/ca-certificates.conf";

/// The other files that GnuTLS's configure script looks for (configure.ac, `default-trust-store-file`), and the names
/// that programs use on Fedora, where GnuTLS itself asks p11-kit.
pub(super) const ELSEWHERE: [&str; 5] = [
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];

/// Hashed directories, for machines without a bundle.
pub const HASHED_DIRECTORIES: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

/// The directories for an administrator's additional certificates: Debian, Fedora, SUSE, Arch.
pub const ADDED: [&str; 4] = [
    "/usr/local/share/ca-certificates",
    "/etc/pki/ca-trust/source/anchors",
    "/etc/pki/trust/anchors",
    "/etc/ca-certificates/trust-source/anchors",
];
/// The directories that update-ca-certificates (Debian, Alpine) links to.
pub const DEBIAN_SOURCES: [&str; 2] = ["/usr/share/ca-certificates", "/usr/local/share/ca-certificates"];
/// Directories that a tool regenerates as a whole, each with the tool.
pub const GENERATED: [(&str, &str); 2] =
    [("/etc/pki/ca-trust/extracted", "update-ca-trust"), ("/var/lib/ca-certificates", "update-ca-certificates")];

/// Several prefixes with the same patterns below them.
pub(super) struct Family {
    /// Relative to `/` or to a home; may have stars.
    pub prefixes: &'static [&'static str],
    /// The patterns below each prefix.
    pub patterns: &'static [Pattern],
}

/// A path that may lead to places of trust.
pub(super) struct Pattern {
    /// Relative to a prefix; may have stars.
    pub path: &'static str,
    /// The kind of place.
    pub kind: PlaceKind,
    /// The program that uses it. `{}` stands for the directory this many levels above.
    why: (&'static str, usize),
}

impl Pattern {
    /// The program that uses the file found at `path`.
    pub(crate) fn why_of(&self, path: &Path) -> String {
        let (why, levels) = self.why;
        let owner = path.ancestors().nth(levels).unwrap_or(path);
        why.replace("{}", &owner.to_string_lossy())
    }
}

const fn at(path: &'static str, kind: PlaceKind, why: &'static str) -> Pattern {
    Pattern { path, kind, why: (why, 0) }
}

const fn of(path: &'static str, kind: PlaceKind, why: &'static str, levels: usize) -> Pattern {
    Pattern { path, kind, why: (why, levels) }
}

/// Below a directory of Python packages: certifi, the copy in pip, and packages that carry their own bundle.
const PACKAGES: &[Pattern] = &[
    of("certifi/cacert.pem", CertifiBundle, "certifi of {}", 2),
    of("pip/_vendor/certifi/cacert.pem", CertifiBundle, "pip's own certifi in {}", 4),
    of("botocore/cacert.pem", CertifiBundle, "botocore (AWS) of {}", 2),
    of("httplib2/cacerts.txt", CertifiBundle, "httplib2 of {}", 2),
    of("grpc/_cython/_credentials/roots.pem", CertifiBundle, "gRPC of {}", 4),
];

/// Below a JDK or JRE. jssecacerts replaces cacerts where it exists (JSSE Reference Guide).
const JAVA: &[Pattern] = &[
    of("lib/security/jssecacerts", JavaKeystore, "Java in {}, instead of its cacerts", 3),
    of("lib/security/cacerts", JavaKeystore, "Java in {}", 3),
    of("jre/lib/security/cacerts", JavaKeystore, "Java in {}", 4),
];

/// Below a directory of gems.
const GEMS: &[Pattern] = &[
    of("stripe-*/lib/data/ca-certificates.crt", PrivateBundle, "gem {}", 3),
    of("excon-*/data/cacert.pem", PrivateBundle, "gem {}", 2),
    of("httpclient-*/lib/httpclient/cacert.pem", PrivateBundle, "gem {}", 3),
    of("certifi-*/vendor/cacert.pem", PrivateBundle, "gem {}", 2),
    of("certified-*/certs/ca-bundle.crt", PrivateBundle, "gem {}", 2),
];

/// Below a conda environment.
const CONDA: &[Pattern] = &[of("ssl/cacert.pem", PrivateBundle, "OpenSSL of conda in {}", 2)];

/// Below the profiles of Firefox, Thunderbird and similar programs.
const PROFILES: &[Pattern] = &[of("cert9.db", NssDatabase, "profile {}", 1)];

/// Below `/`. The places that OpenSSL and GnuTLS report themselves come from `sources.rs`.
pub(super) const MACHINE: &[Family] = &[
    Family {
        prefixes: &[""],
        patterns: &[
            // SUSE: made by update-ca-certificates from /etc/pki/trust and /usr/share/pki/trust.
            at("var/lib/ca-certificates/ca-bundle.pem", Cafile, "SUSE's bundle"),
            at("var/lib/ca-certificates/pem", Capath, "SUSE's hashed directory"),
            at("var/lib/ca-certificates/openssl", Capath, "SUSE's hashed directory for OpenSSL"),
            // Fedora: update-ca-trust(8).
            at("etc/pki/ca-trust/extracted/openssl/ca-bundle.trust.crt", Cafile, "Fedora's bundle with trust settings"),
            at("etc/pki/ca-trust/extracted/pem/directory-hash", Capath, "Fedora's hashed directory"),
            at("etc/ssl/cert.pem", Cafile, "default file of Alpine and LibreSSL"),
            at("etc/ssl/certs", Capath, "hashed directory of Debian, SUSE and Alpine"),
            at("usr/local/share/curl/curl-ca-bundle.crt", PrivateBundle, "curl under /usr/local"),
            at("usr/share/curl/curl-ca-bundle.crt", PrivateBundle, "curl"),
            at("usr/local/ssl/cert.pem", PrivateBundle, "an OpenSSL under /usr/local"),
            at("etc/ssl/certs/java/cacerts", JavaKeystore, "Java of Debian, kept by ca-certificates-java"),
            at("etc/pki/ca-trust/extracted/java/cacerts", JavaKeystore, "Java of Fedora, kept by update-ca-trust"),
            at("var/lib/ca-certificates/java-cacerts", JavaKeystore, "Java of SUSE, kept by update-ca-certificates"),
            at("etc/pki/nssdb/cert9.db", NssDatabase, "NSS programs of all users"),
            at("usr/share/p11-kit/modules/*.module", P11KitModule, "p11-kit"),
            at("etc/pkcs11/modules/*.module", P11KitModule, "p11-kit, by the administrator"),
            // The paths that p11-kit's trust module is built with, by distribution (Fedora, SUSE, Arch).
            at("etc/pki/ca-trust/source", P11KitTrust, "p11-kit-trust of Fedora"),
            at("usr/share/pki/ca-trust-source", P11KitTrust, "p11-kit-trust of Fedora"),
            at("etc/pki/trust", P11KitTrust, "p11-kit-trust of SUSE"),
            at("usr/share/pki/trust", P11KitTrust, "p11-kit-trust of SUSE"),
            at("etc/ca-certificates/trust-source", P11KitTrust, "p11-kit-trust of Arch"),
            at("usr/share/ca-certificates/trust-source", P11KitTrust, "p11-kit-trust of Arch"),
        ],
    },
    Family {
        prefixes: &[
            "usr/lib/python*/*-packages",
            "usr/lib64/python*/site-packages",
            "usr/local/lib/python*/*-packages",
            "opt/*/lib/python*/site-packages",
            "opt/*/venvs/*/lib/python*/site-packages",
            "opt/*/envs/*/lib/python*/site-packages",
            "srv/*/*/lib/python*/site-packages",
        ],
        patterns: PACKAGES,
    },
    Family { prefixes: &["opt/*", "opt/*/envs/*"], patterns: CONDA },
    Family { prefixes: &["usr/lib/jvm/*", "usr/lib64/jvm/*", "usr/java/*", "opt/*", "opt/java/*"], patterns: JAVA },
    Family {
        prefixes: &[
            "var/lib/gems/*/gems",
            "usr/share/rubygems-integration/*/gems",
            "usr/local/lib/ruby/gems/*/gems",
            "usr/lib/ruby/gems/*/gems",
            "usr/local/bundle/gems",
        ],
        patterns: GEMS,
    },
];

/// Below a home.
pub(super) const HOME: &[Family] = &[
    Family {
        prefixes: &[
            ".local/lib/python*/site-packages",
            ".local/share/pipx/venvs/*/lib/python*/site-packages",
            ".local/share/pipx/shared/lib/python*/site-packages",
            ".local/pipx/venvs/*/lib/python*/site-packages",
            ".local/pipx/shared/lib/python*/site-packages",
            ".local/share/uv/tools/*/lib/python*/site-packages",
            ".local/share/uv/python/*/lib/python*/site-packages",
            ".local/share/virtualenvs/*/lib/python*/site-packages",
            ".virtualenvs/*/lib/python*/site-packages",
            ".cache/pypoetry/virtualenvs/*/lib/python*/site-packages",
            ".pyenv/versions/*/lib/python*/site-packages",
            ".pyenv/versions/*/envs/*/lib/python*/site-packages",
            ".conda/envs/*/lib/python*/site-packages",
            "*conda*/lib/python*/site-packages",
            "*conda*/envs/*/lib/python*/site-packages",
            "*forge*/lib/python*/site-packages",
            "*forge*/envs/*/lib/python*/site-packages",
        ],
        patterns: PACKAGES,
    },
    Family { prefixes: &[".conda/envs/*", "*conda*", "*conda*/envs/*", "*forge*", "*forge*/envs/*"], patterns: CONDA },
    Family {
        prefixes: &[
            ".sdkman/candidates/java/*",
            ".jdks/*",
            ".asdf/installs/java/*",
            ".local/share/mise/installs/java/*",
            ".gradle/jdks/*",
            ".jbang/cache/jdks/*",
        ],
        patterns: JAVA,
    },
    Family {
        prefixes: &[""],
        patterns: &[
            at(".java/deployment/security/trusted.cacerts", JavaKeystore, "Java deployment"),
            of(".dotnet/corefx/cryptography/x509stores/*", DotnetStore, ".NET store of {}", 5),
            at(".config/pkcs11/modules/*.module", P11KitModule, "p11-kit, by the user"),
            of(".pki/nssdb/cert9.db", NssDatabase, "Chromium and other NSS programs of {}", 3),
            of(".local/share/pki/nssdb/cert9.db", NssDatabase, "Chromium and other NSS programs of {}", 5),
            of("snap/chromium/current/.pki/nssdb/cert9.db", NssDatabase, "Chromium (snap) of {}", 6),
        ],
    },
    Family {
        prefixes: &[
            ".mozilla/firefox/*",
            ".config/mozilla/firefox/*",
            "snap/firefox/common/.mozilla/firefox/*",
            ".var/app/org.mozilla.firefox/.mozilla/firefox/*",
            ".var/app/org.mozilla.firefox/config/mozilla/firefox/*",
            ".thunderbird/*",
            "snap/thunderbird/common/.thunderbird/*",
            ".var/app/org.mozilla.Thunderbird/.thunderbird/*",
            ".librewolf/*",
            ".waterfox/*",
        ],
        patterns: PROFILES,
    },
    Family {
        prefixes: &[
            ".gem/ruby/*/gems",
            ".local/share/gem/ruby/*/gems",
            ".rbenv/versions/*/lib/ruby/gems/*/gems",
            ".rvm/gems/*/gems",
            ".asdf/installs/ruby/*/lib/ruby/gems/*/gems",
        ],
        patterns: GEMS,
    },
];

/// Below a virtual environment.
pub(super) const ENVIRONMENT: &[Family] = &[Family { prefixes: &["lib/python*/site-packages"], patterns: PACKAGES }];
