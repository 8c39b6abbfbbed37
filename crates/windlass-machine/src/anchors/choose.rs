//! The source that `ls` lists: the one named by the user, or the one of OpenSSL's default paths.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass::Source;

use crate::failure::{Failure, FailureKind};
use crate::places::known_paths::USUAL_DIRECTORIES;

/// A source, and the reason for choosing it.
#[derive(Debug)]
pub struct Choice {
    /// The source to list.
    pub source: Source,
    /// The reason, for display, as a clause.
    pub reason: String,
    /// A second place that OpenSSL's default paths also search.
    pub also: Option<PathBuf>,
}

/// The source at `path`, or the default one.
pub fn choose(path: Option<&Path>) -> Result<Choice, Failure> {
    match path {
        Some(path) => {
            let source = existing(path).map_err(|error| unreadable(path, error))?;
            Ok(Choice { source, reason: String::from("named on the command line"), also: None })
        }
        None => default(&Defaults::find()),
    }
}

/// A directory is a CApath, anything else a CAfile.
fn existing(path: &Path) -> std::io::Result<Source> {
    let is_directory = path.metadata()?.is_dir();
    Ok(if is_directory { Source::Capath(path.into()) } else { Source::Cafile(path.into()) })
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(FailureKind::SourceUnreadable, format!("cannot list {}", path.display()), error)
        .advise("name a file of PEM certificates or a hashed directory; without a name, OpenSSL's default is listed")
}

/// The paths of `X509_STORE_set_default_paths` (crypto/x509/x509_d2.c): a file, and directories of hashed names.
struct Defaults {
    file: Default,
    directories: Default,
}

struct Default {
    value: OsString,
    reason: String,
}

impl Defaults {
    /// A variable counts as set even when it is empty, and then hides the built-in path.
    fn find() -> Defaults {
        let (file, directories) = (std::env::var_os("SSL_CERT_FILE"), std::env::var_os("SSL_CERT_DIR"));
        let (directory, how) = match (&file, &directories) {
            (Some(_), Some(_)) => (PathBuf::new(), String::new()),
            _ => openssldir(),
        };
        let built_in =
            |name: &str| Default { value: directory.join(name).into(), reason: format!("{name} in OPENSSLDIR, {how}") };
        let given = |value: OsString, name: &str| Default { value, reason: format!("{name} is set") };
        Defaults {
            file: file.map_or_else(|| built_in("cert.pem"), |value| given(value, "SSL_CERT_FILE")),
            directories: directories.map_or_else(|| built_in("certs"), |value| given(value, "SSL_CERT_DIR")),
        }
    }
}

fn default(defaults: &Defaults) -> Result<Choice, Failure> {
    let file = Path::new(&defaults.file.value);
    let directory = std::env::split_paths(&defaults.directories.value).find(|directory| directory.is_dir());
    match (existing(file), directory) {
        (Ok(Source::Cafile(path)), also) => {
            Ok(Choice { source: Source::Cafile(path), reason: defaults.file.reason.clone(), also })
        }
        (_, Some(directory)) => Ok(Choice {
            source: Source::Capath(directory),
            reason: format!("{}; there is no file {}", defaults.directories.reason, quoted(file)),
            also: None,
        }),
        (_, None) => Err(Failure::new(
            FailureKind::SourceUnreadable,
            "OpenSSL has no default source of trust here",
            format!(
                "there is no file {} ({}), and no directory {} ({})",
                quoted(file),
                defaults.file.reason,
                quoted(Path::new(&defaults.directories.value)),
                defaults.directories.reason
            ),
        )
        .advise(
            "install the system's CA certificates (package ca-certificates), correct SSL_CERT_FILE and SSL_CERT_DIR, \
                 or name a source: windlass ls FILE",
        )),
    }
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

/// OPENSSLDIR of this machine's libcrypto, and how it was found. The `openssl` command is asked, because loading a
/// library for this would run foreign code in this process.
fn openssldir() -> (PathBuf, String) {
    if let Some(directory) = ask_openssl() {
        return (directory, String::from("which is what `openssl version -d` says"));
    }
    let directory = USUAL_DIRECTORIES.into_iter().find(|directory| {
        let directory = Path::new(directory);
        directory.join("cert.pem").is_file() || directory.join("certs").is_dir()
    });
    let directory = directory.unwrap_or(USUAL_DIRECTORIES[0]);
    (PathBuf::from(directory), format!("taken to be {directory}, as there is no `openssl` command to ask"))
}

fn ask_openssl() -> Option<PathBuf> {
    let output = Command::new("openssl").args(["version", "-d"]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.ok().filter(|output| output.status.success())?.stdout;
    // OPENSSLDIR: "/usr/lib/ssl"
    let line = output.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"OPENSSLDIR: \""))?;
    let directory = line.strip_suffix(b"\"")?;
    Some(PathBuf::from(OsString::from_vec(directory.to_vec())))
}
