//! What `--stats` says of `--add-ca`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::input::Input;
use crate::output::terminal::printable;
use crate::run::counters::{ADAPTERS, Counters};

/// The counter of the preload library, one for each part (adapters/preload, labels.rs).
const LOADS: &str = "loads-with-added-ca";

/// Who is not told, whatever the flag does.
const OUT_OF_REACH: &str = "programs with roots of their own that read none of these variables (browsers, Java without the java \
                            launcher), setuid programs, and what runs elsewhere (containers, daemons, snap, flatpak)";

/// What a run added. The field names are those of the JSON, which `windlass run --help` documents.
#[derive(Debug, Serialize)]
pub struct AddCa {
    /// The certificates.
    pub certificates: Vec<Certificate>,
    /// Loads that the preload library added them to.
    pub loads: u64,
    /// Variables that were set, and to what.
    pub variables: BTreeMap<&'static str, String>,
    /// Variables that were left as they were, and why.
    pub left: BTreeMap<&'static str, String>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub struct Certificate {
    subject: String,
    sha256_fingerprint: String,
    file: String,
    #[serde(skip)]
    name: String,
}

impl AddCa {
    /// Nothing is set yet.
    pub fn new(input: &Input) -> AddCa {
        let certificates = input.anchors.iter().map(|anchor| Certificate {
            subject: anchor.subject.full.clone(),
            sha256_fingerprint: anchor.fingerprint(),
            file: anchor.file.to_string_lossy().into_owned(),
            name: anchor.subject.short.clone(),
        });
        AddCa { certificates: certificates.collect(), loads: 0, variables: BTreeMap::new(), left: BTreeMap::new() }
    }

    /// A variable was set.
    pub fn variable(&mut self, name: &'static str, value: &Path) {
        self.variables.insert(name, value.to_string_lossy().into_owned());
    }

    /// A variable was left as it was.
    pub fn left(&mut self, name: &'static str, why: &str) {
        self.left.insert(name, why.to_owned());
    }

    /// Takes over what the preload library counted.
    pub fn count(&mut self, counters: &Counters) {
        self.loads = ADAPTERS.iter().filter_map(|section| counters.get(*section)?.get(LOADS)).sum();
    }

    /// For people.
    pub fn render(&self) -> String {
        let count = self.certificates.len();
        let mut text =
            format!("windlass: {count} certificate{} trusted for this run only\n", if count == 1 { "" } else { "s" });
        for Certificate { name, file, .. } in &self.certificates {
            text.push_str(&format!("  {} ({})\n", printable(name), printable(file)));
        }
        let names: Vec<_> = self.variables.keys().copied().collect();
        text.push_str(&format!(
            "  added to {} load{} of OpenSSL and GnuTLS\n",
            self.loads,
            if self.loads == 1 { "" } else { "s" }
        ));
        text.push_str(&format!("  set for other programs: {}\n", names.join(", ")));
        for (name, why) in &self.left {
            text.push_str(&format!("  {name} was left as it was: {}\n", printable(why)));
        }
        text.push_str(&format!("  out of reach: {OUT_OF_REACH}\n"));
        text
    }
}
