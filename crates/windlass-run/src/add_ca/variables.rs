//! The variables that tell programs about files of CA certificates.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::base::Base;
use super::folder::Folder;
use super::report::AddCa;
use crate::environment::Environment;

/// The file replaces the program's usual trust. It gets the machine's trust, or the trust that the variable named
/// before, plus the added certificates.
const REPLACING: [&str; 7] = [
    // OpenSSL's default paths (x509_def.c), Go (crypto/x509/root_unix.go), .NET, rustls-native-certs, the curl command.
    "SSL_CERT_FILE",
    // requests (sessions.py, merge_environment_settings).
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    // git (http.c).
    "GIT_SSL_CAINFO",
    // botocore and the AWS SDKs.
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    // gRPC's C core, which has roots of its own (security_connector/ssl_utils.cc).
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
];

/// The same, for variables whose programs use the machine's trust, or SSL_CERT_FILE, while they are unset.
const REPLACING_WHERE_SET: [&str; 9] = [
    // The curl command (tool_operate.c) would ignore SSL_CERT_DIR if it were set.
    "CURL_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "HEX_CACERTS_PATH",
    "JULIA_SSL_CA_ROOTS_PATH",
    "PERL_LWP_SSL_CA_FILE",
    "HTTPS_CA_FILE",
    "NPM_CONFIG_CAFILE",
];

/// The program trusts the file in addition to its usual trust.
const ADDING: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"];

/// Sets the variables, and writes the files that they name.
pub fn set(
    environment: &mut Environment,
    folder: &Folder,
    added_path: &Path,
    added: &[String],
    report: &mut AddCa,
) -> io::Result<()> {
    let mut bundles = Bundles { folder, added, known: BTreeMap::new() };
    let replacing = REPLACING.into_iter().map(|name| (name, Unset::Machine));
    let where_set = REPLACING_WHERE_SET.into_iter().map(|name| (name, Unset::Leave));
    let adding = ADDING.into_iter().map(|name| (name, Unset::Added));
    for (name, unset) in replacing.chain(where_set).chain(adding) {
        // Programs treat an empty value as unset, except OpenSSL (see below).
        let present = environment.value(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = match (present, unset) {
            (None, Unset::Leave) => continue,
            (None, Unset::Added) => added_path.to_owned(),
            // An empty value says that there should be no file, and keeps that meaning.
            (None, Unset::Machine) if environment.value(name).is_some() => bundles.of_nothing()?,
            (None, Unset::Machine) => bundles.of_machine()?,
            (Some(present), _) => match bundles.of(&present)? {
                Ok(path) => path,
                Err(error) => {
                    report.left(name, &format!("it names {}: {error}", present.display()));
                    continue;
                }
            },
        };
        report.variable(name, &path);
        environment.set(name, path.into_os_string());
    }
    Ok(())
}

/// The trust of a program without the variable.
#[derive(Clone, Copy)]
enum Unset {
    Machine,
    Added,
    Leave,
}

/// One file for each base.
struct Bundles<'a> {
    folder: &'a Folder,
    added: &'a [String],
    known: BTreeMap<Option<PathBuf>, PathBuf>,
}

impl Bundles<'_> {
    fn of_machine(&mut self) -> io::Result<PathBuf> {
        match self.known.get(&None) {
            Some(path) => Ok(path.clone()),
            None => self.write(None, &Base::of_machine()),
        }
    }

    fn of_nothing(&mut self) -> io::Result<PathBuf> {
        Ok(self.folder.path().join(super::ADDED))
    }

    /// The inner error is from reading the base.
    fn of(&mut self, base: &Path) -> io::Result<io::Result<PathBuf>> {
        if let Some(path) = self.known.get(&Some(base.to_owned())) {
            return Ok(Ok(path.clone()));
        }
        match Base::at(base) {
            Ok(content) => self.write(Some(base.to_owned()), &content).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn write(&mut self, key: Option<PathBuf>, base: &Base) -> io::Result<PathBuf> {
        let name = match self.known.len() {
            0 => String::from("bundle.pem"),
            number => format!("bundle-{}.pem", number + 1),
        };
        let path = self.folder.write(&name, &base.with(self.added), base.mode)?;
        self.known.insert(key, path.clone());
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_in_two_lists() {
        let mut all: Vec<_> = REPLACING.iter().chain(&REPLACING_WHERE_SET).chain(&ADDING).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
