//! Small sources, compiled stores of them, and a cache that tells where it took them from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windlass::compiled::{self, Directories, Image, Overwrite};
use windlass::{CacheEvent, Config, LoadError, MaxAge, RootStore, Source, TrustCache};

use super::answers::{self, assert_same};
use super::counts::Counts;
use super::der::{self, Node};
use super::pem;

const SUBJECT: usize = 5;

/// The smallest certificate of the system, from which others are made.
pub fn template() -> Node {
    Node::parse(&super::smallest())
}

/// A certificate with this common name and serial number.
pub fn certificate(template: &Node, common_name: &str, serial: u32) -> Vec<u8> {
    certificate_of(template, &name(common_name), serial)
}

/// A certificate with this subject, as DER, and serial number.
pub fn certificate_of(template: &Node, subject: &[u8], serial: u32) -> Vec<u8> {
    let mut root = template.clone();
    let tbs = root.children()[0].children();
    tbs[1] = Node::bytes(der::INTEGER, [&[1], serial.to_be_bytes().as_slice()].concat());
    tbs[SUBJECT] = Node::parse(subject);
    root.encode()
}

pub fn name(common_name: &str) -> Vec<u8> {
    der::common_name(0x0C, common_name.as_bytes())
}

pub fn pem_of<'d>(certificates: impl IntoIterator<Item = &'d Vec<u8>>) -> Vec<u8> {
    certificates.into_iter().flat_map(|der| pem(der)).collect()
}

/// Two files of one certificate each, that differ in nothing that the file system tells but their content.
pub fn twins() -> [Vec<u8>; 2] {
    let template = template();
    ["first", "other"].map(|name| pem(&certificate(&template, name, 1)))
}

/// A directory for a source, one for its compiled store, and counters.
pub struct Bench {
    pub dir: TempDir,
    pub stores: PathBuf,
    pub counts: &'static Counts,
    pub max_age: MaxAge,
}

impl Bench {
    pub fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let stores = dir.path().join("stores");
        fs::create_dir(&stores).unwrap();
        Bench { dir, stores, counts: Counts::new(), max_age: MaxAge::Forever }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn source(&self, pem: &[u8]) -> Source {
        let path = self.path("ca.pem");
        fs::write(&path, pem).unwrap();
        Source::Cafile(path)
    }

    /// Compiles a source, and gives the path of its compiled store.
    pub fn compile(&self, source: &Source) -> PathBuf {
        let image = image(source);
        assert!(image.is_believed());
        compiled::write(&self.stores, &image, Overwrite::Forced).unwrap().path
    }

    /// A cache that knows nothing yet.
    pub fn cache(&self) -> TrustCache {
        let stores = Directories::only(self.stores.clone());
        TrustCache::new(Config { max_age: self.max_age, stores, ..Config::default() }, Some(self.counts))
    }

    pub fn load(&self, source: &Source) -> Result<Arc<RootStore>, LoadError> {
        self.cache().load(source)
    }

    /// Loads as a new process does, wants what the PEM text gives, and tells which counters that changed.
    #[track_caller]
    pub fn expect(&self, source: &Source, pem: &[u8]) -> Vec<CacheEvent> {
        let before = self.counts();
        let store = self.load(source).unwrap();
        assert_same(&store, &RootStore::from_pem(pem).unwrap());
        self.changed_since(&before)
    }

    pub fn counts(&self) -> Vec<u64> {
        CacheEvent::ALL.iter().map(|event| self.counts.value(*event)).collect()
    }

    /// What was counted since then, by one; bytes are not looked at.
    #[track_caller]
    pub fn changed_since(&self, before: &[u64]) -> Vec<CacheEvent> {
        let now = self.counts();
        let changed =
            CacheEvent::ALL.into_iter().zip(before.iter().zip(now)).filter(|(_, (before, now))| **before != *now);
        changed
            .filter(|(event, _)| *event != CacheEvent::BytesRead)
            .map(|(event, (before, now))| {
                assert_eq!(before + 1, now, "{event:?}");
                event
            })
            .collect()
    }
}

pub const COMPILED: &[CacheEvent] = &[CacheEvent::Compiled];
pub const STALE: &[CacheEvent] = &[CacheEvent::Load, CacheEvent::CompiledStale];
pub const DISTRUSTED: &[CacheEvent] = &[CacheEvent::Load, CacheEvent::CompiledDistrusted];
pub const MALFORMED: &[CacheEvent] = &[CacheEvent::Load, CacheEvent::CompiledMalformed];
pub const NOTHING: &[CacheEvent] = &[CacheEvent::Load];

/// What is counted for a compiled store of the same content: with digests in hardware it is taken.
pub fn by_content() -> &'static [CacheEvent] {
    #[cfg(target_arch = "x86_64")]
    let quick = std::arch::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    let quick = std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let quick = false;
    if quick { &[CacheEvent::CompiledByContent] } else { STALE }
}

pub fn image(source: &Source) -> Image {
    compiled::compile(source, None, Some(&answers::FINDING)).unwrap()
}

/// The names in a directory.
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
