//! The section of `--stats` about `--add-ca`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::input::Input;

/// The effects of `--add-ca`. The field names are those of the JSON, which `windlass run --help` documents.
#[derive(Debug, Serialize)]
pub struct AddCa {
    /// The certificates.
    pub certificates: Vec<AddedCertificate>,
    /// Loads that the preload library added them to.
    pub loads: u64,
    /// Variables that were set, with their values.
    pub variables: BTreeMap<&'static str, String>,
    /// Variables that were left unchanged, with the reason.
    pub left: BTreeMap<&'static str, String>,
}

/// One added certificate.
#[derive(Debug, Serialize)]
pub struct AddedCertificate {
    subject: String,
    sha256_fingerprint: String,
    /// The file it was read from.
    pub file: String,
    /// The part of the subject that people recognise.
    #[serde(skip)]
    pub name: String,
}

impl AddCa {
    /// A report before any variable is set.
    pub fn new(input: &Input) -> AddCa {
        let certificates = input.anchors.iter().map(|anchor| AddedCertificate {
            subject: anchor.subject.full.clone(),
            sha256_fingerprint: anchor.fingerprint(),
            file: anchor.file.to_string_lossy().into_owned(),
            name: anchor.subject.short.clone(),
        });
        AddCa { certificates: certificates.collect(), loads: 0, variables: BTreeMap::new(), left: BTreeMap::new() }
    }

    /// Records that a variable was set.
    pub fn variable(&mut self, name: &'static str, value: &Path) {
        self.variables.insert(name, value.to_string_lossy().into_owned());
    }

    /// Records that a variable was left unchanged.
    pub fn left(&mut self, name: &'static str, why: &str) {
        self.left.insert(name, why.to_owned());
    }
}
