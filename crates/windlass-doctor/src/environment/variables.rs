//! The variables that change the trust of programs.

/// A variable, and its effect on the programs that read it.
#[derive(Debug)]
pub struct Variable {
    /// The name of the variable.
    pub name: &'static str,
    /// How the value is read.
    pub kind: Kind,
    /// The programs that read it, for display.
    pub readers: &'static str,
}

/// The meaning of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file of PEM certificates, instead of the default.
    File,
    /// A hashed directory, instead of the default.
    Directory,
    /// Several directories, separated by colons (OpenSSL: `LIST_SEPARATOR_CHAR`).
    Directories,
    /// A file or a directory.
    FileOrDirectory,
    /// A file of PEM certificates, in addition to the default.
    MoreCertificates,
    /// This value, or any value, switches verification off.
    Switch(Option<&'static str>),
}

/// All known variables.
pub const ALL: &[Variable] = &[
    file("SSL_CERT_FILE", "OpenSSL's default paths (Python, Ruby, Perl, PHP), Go, curl, Rust's rustls-native-certs"),
    Variable { name: "SSL_CERT_DIR", kind: Kind::Directories, readers: "OpenSSL's default paths, Go, curl" },
    Variable { name: "REQUESTS_CA_BUNDLE", kind: Kind::FileOrDirectory, readers: "Python's requests, and pip" },
    Variable { name: "CURL_CA_BUNDLE", kind: Kind::FileOrDirectory, readers: "curl, and Python's requests" },
    Variable { name: "NODE_EXTRA_CA_CERTS", kind: Kind::MoreCertificates, readers: "Node.js" },
    file("GIT_SSL_CAINFO", "git"),
    Variable { name: "GIT_SSL_CAPATH", kind: Kind::Directory, readers: "git" },
    file("AWS_CA_BUNDLE", "the AWS command line and SDKs"),
    Variable { name: "PIP_CERT", kind: Kind::FileOrDirectory, readers: "pip" },
    Variable { name: "DENO_CERT", kind: Kind::MoreCertificates, readers: "Deno" },
    file("CARGO_HTTP_CAINFO", "cargo"),
    file("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "gRPC"),
    file("NIX_SSL_CERT_FILE", "programs of Nix"),
    file("PERL_LWP_SSL_CA_FILE", "Perl's LWP"),
    Variable { name: "PERL_LWP_SSL_CA_PATH", kind: Kind::Directory, readers: "Perl's LWP" },
    file("HTTPLIB2_CA_CERTS", "Python's httplib2"),
    file("HEX_CACERTS_PATH", "Elixir's hex"),
    file("CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "the Google Cloud command line"),
    file("npm_config_cafile", "npm"),
    file("NPM_CONFIG_CAFILE", "npm"),
    Variable { name: "NODE_TLS_REJECT_UNAUTHORIZED", kind: Kind::Switch(Some("0")), readers: "Node.js" },
    Variable { name: "GIT_SSL_NO_VERIFY", kind: Kind::Switch(None), readers: "git" },
    Variable {
        name: "PYTHONHTTPSVERIFY",
        kind: Kind::Switch(Some("0")),
        readers: "Python 2.7, and 3 on Red Hat's systems",
    },
    Variable { name: "PERL_LWP_SSL_VERIFY_HOSTNAME", kind: Kind::Switch(Some("0")), readers: "Perl's LWP" },
];

const fn file(name: &'static str, readers: &'static str) -> Variable {
    Variable { name, kind: Kind::File, readers }
}

impl Variable {
    /// The variable of this name.
    pub fn named(name: &str) -> Option<&'static Variable> {
        ALL.iter().find(|variable| variable.name == name)
    }

    /// For a switch: whether this value switches verification off. None: it is not a switch.
    pub fn switch(&self, value: &[u8]) -> Option<bool> {
        match self.kind {
            Kind::Switch(off) => Some(off.is_none_or(|off| off.as_bytes() == value)),
            _ => None,
        }
    }

    /// Whether an empty value has the same effect as none. OpenSSL takes an empty value for a path (`ossl_safe_getenv`
    /// in crypto/x509/x509_def.c and by_file.c); other programs test for a non-empty value.
    pub fn may_be_empty(&self) -> bool {
        !matches!(self.name, "SSL_CERT_FILE" | "SSL_CERT_DIR")
    }
}
