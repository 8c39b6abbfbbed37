//! The certificates behind the loads: after the run, the sources are read again with the core's readers.

#![allow(missing_docs, reason = "fields are those of the JSON, which `windlass trace --help` documents")]

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsRawFd;
use std::path::Path;

use serde::Serialize;
use windlass::{Config, Source, TrustCache};
use windlass_machine::anchors::name::{Name, hex};
use windlass_machine::regular;

use super::event;
use super::model::Trace;

/// Sources with more files than this are not read: a program was made to load everything.
const MAX_SOURCES: usize = 1_000;
const MAX_USED: usize = 1_000;
/// The kinds of sources that are read again, among those of docs/trace-events.md.
const FILE: &str = "file";
const DIRECTORY: &str = "directory";

/// The certificates in the sources, and those that were used.
#[derive(Debug, Default, Serialize)]
pub struct Certificates {
    /// Distinct certificates in all sources that could be read; null if none could.
    pub distinct: Option<usize>,
    /// Different trust anchors that ended a verified chain.
    pub used: usize,
    /// Loads from memory, whose certificates are not among the distinct ones.
    pub loads_from_memory: u64,
    pub sources: Vec<SourceRead>,
    /// The trust anchors that were used, the most used first.
    pub anchors: Vec<Anchor>,
}

/// One source as it is after the run.
#[derive(Debug, Serialize)]
pub struct SourceRead {
    pub kind: &'static str,
    pub path: String,
    /// Certificates in it, duplicates included; null if it can't be read.
    pub certificates: Option<usize>,
    pub problem: Option<String>,
}

/// A trust anchor that ended a verified chain.
#[derive(Debug, Serialize)]
pub struct Anchor {
    pub sha256_fingerprint: String,
    /// Null if no source has it: it came from memory, or the source has changed.
    pub name: Option<String>,
    pub verifications: u64,
}

/// Reads the sources of a run.
pub fn read(trace: &Trace) -> Certificates {
    let mut sources = BTreeMap::new();
    for source in &trace.read {
        if let (Some(kind), Some(path)) = (kind(source), source.path.as_deref()) {
            sources.insert(path, kind);
        }
    }
    let cache = TrustCache::new(Config::default(), None);
    let mut distinct: BTreeSet<String> = BTreeSet::new();
    let mut names = BTreeMap::new();
    let mut read = Vec::new();
    for (path, kind) in sources.into_iter().take(MAX_SOURCES) {
        read.push(read_one(&cache, kind, path, |fingerprint, subject| {
            if trace.anchors.contains_key(&fingerprint) {
                names.entry(fingerprint.clone()).or_insert_with(|| subject().short);
            }
            distinct.insert(fingerprint);
        }));
    }
    let anchors = trace.anchors.iter().map(|(fingerprint, verifications)| Anchor {
        sha256_fingerprint: fingerprint.clone(),
        name: names.get(fingerprint).cloned(),
        verifications: *verifications,
    });
    let mut anchors: Vec<_> = anchors.collect();
    anchors.sort_by_key(|anchor| std::cmp::Reverse(anchor.verifications));
    anchors.truncate(MAX_USED);
    Certificates {
        distinct: read.iter().any(|source| source.certificates.is_some()).then_some(distinct.len()),
        used: trace.anchors.len(),
        loads_from_memory: trace.totals.from_memory,
        sources: read,
        anchors,
    }
}

/// How the source can be read again; None if it can't.
fn kind(source: &event::Source) -> Option<&'static str> {
    match source.kind.as_str() {
        "file" | "default-file" | "system" => Some(FILE),
        "directory" | "default-directory" => Some(DIRECTORY),
        _ => None,
    }
}

fn read_one<'a>(
    cache: &TrustCache,
    kind: &'static str,
    path: &str,
    mut each: impl FnMut(String, &mut dyn FnMut() -> Name) + 'a,
) -> SourceRead {
    let failed =
        |problem: String| SourceRead { kind, path: path.to_owned(), certificates: None, problem: Some(problem) };
    let place = Path::new(path);
    // The library makes paths absolute. A relative one would be resolved from another directory here.
    if !place.is_absolute() {
        return failed(String::from("a relative path, and the directory of the program is not known"));
    }
    let file = match (kind, place.metadata()) {
        (_, Err(error)) => return failed(error.kind().to_string()),
        (DIRECTORY, Ok(_)) => None,
        // A stranger's path may lead to a FIFO or a device.
        _ => match regular::open(place) {
            Ok(file) => Some(file),
            Err(error) if error.raw_os_error().is_some() => return failed(error.kind().to_string()),
            Err(error) => return failed(error.to_string()),
        },
    };
    let source = match &file {
        Some(file) => Source::Cafile(format!("/proc/self/fd/{}", file.as_raw_fd()).into()),
        None => Source::Capath(place.into()),
    };
    match cache.load(&source) {
        Err(error) => failed(error.to_string()),
        Ok(store) => {
            for anchor in store.anchors() {
                each(hex(&anchor.sha256_fingerprint()), &mut || Name::of(anchor.raw_subject()));
            }
            SourceRead { kind, path: path.to_owned(), certificates: Some(store.len()), problem: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader;

    const RSA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/rsa.pem");
    const TWIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/twin.pem");

    fn certificates(paths: &[&str], anchor: &str) -> Certificates {
        let mut lines: Vec<_> = paths
            .iter()
            .map(|path| {
                format!(r#"{{"e":"load","pid":1,"tid":1,"entry":"f","sources":[{{"kind":"file","path":"{path}"}}]}}"#)
            })
            .collect();
        lines.push(format!(r#"{{"e":"verify","pid":1,"ok":true,"anchor":"{anchor}"}}"#));
        let mut trace = Trace::default();
        reader::read(lines.join("\n").as_bytes(), |event| trace.take(event)).unwrap();
        read(&trace)
    }

    #[test]
    fn equal_certificates_of_several_sources_are_one() {
        let copy = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(copy.path(), [std::fs::read(RSA).unwrap(), std::fs::read(TWIN).unwrap()].concat()).unwrap();
        let one = certificates(&[RSA], "");
        let both = certificates(&[RSA, copy.path().to_str().unwrap()], "");
        assert_eq!((one.distinct, both.distinct, both.sources.len()), (Some(1), Some(2), 2));
    }

    #[test]
    fn a_used_anchor_has_a_name_where_a_source_has_it() {
        let store = TrustCache::new(Config::default(), None).load_cafile(Path::new(RSA)).unwrap();
        let fingerprint = hex(&store.anchors().next().unwrap().sha256_fingerprint());
        let known = certificates(&[RSA], &fingerprint);
        assert!(known.anchors[0].name.is_some() && known.used == 1, "{known:?}");
        assert_eq!(certificates(&[TWIN], &"0".repeat(64)).anchors[0].name, None);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let found = certificates(&["/dev/zero", "/proc/self/mem", "/no/such/file", "relative"], "");
        assert_eq!((found.distinct, found.sources.len()), (None, 4));
        assert!(found.sources.iter().all(|source| source.problem.is_some() && source.kind == "file"));
    }
}
