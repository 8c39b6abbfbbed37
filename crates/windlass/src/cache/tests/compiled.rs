//! A source with a compiled store changes: in every case, the next load gives the current content of the source.

mod ages;
mod changes;
mod places;

use super::*;
use crate::compiled::{Overwrite, compile, digests_are_quick, file_name, write};

/// A directory for compiled stores within the bench's own.
const STORES: &str = "stores";

fn bench(max_age: MaxAge) -> Bench {
    bench_with(max_age, &[STORES])
}

fn bench_with(max_age: MaxAge, stores: &[&str]) -> Bench {
    let mut bench = Bench::new(max_age);
    for name in stores {
        fs::create_dir(bench.path(name)).unwrap();
    }
    bench.cache.config.stores = stores.iter().map(|name| bench.path(name)).collect();
    bench
}

/// Compiles, and returns the path of the compiled store.
fn compile_into(bench: &Bench, stores: &str, source: &Source) -> PathBuf {
    let image = compile(source, None, None).unwrap();
    assert!(image.is_believed());
    write(&bench.path(stores), &image, Overwrite::Forced).unwrap().path
}

/// A PEM file with these certificates, and a compiled store of it.
fn compiled(bench: &Bench, name: &str, certificates: &[usize]) -> PathBuf {
    let path = bench.write(name, &pem(certificates));
    compile_into(bench, STORES, &Source::Cafile(path.clone()));
    path
}

fn pem(certificates: &[usize]) -> Vec<u8> {
    certificates.iter().flat_map(|&n| certificate(n)).collect()
}

/// The counts for a compiled store with the same content: without hardware support for digests, it is not used.
fn by_content() -> Counts {
    if digests_are_quick() { BY_CONTENT } else { STALE }
}

/// Fresh, fresh by content, stale, distrusted, malformed; and indexed.
type Counts = [u64; 6];
const FRESH: Counts = [1, 0, 0, 0, 0, 0];
const BY_CONTENT: Counts = [0, 1, 0, 0, 0, 0];
const STALE: Counts = [0, 0, 1, 0, 0, 1];
const INDEXED: Counts = [0, 0, 0, 0, 0, 1];
const NOTHING: Counts = [0; 6];

impl Bench {
    fn compiled_counts(&self) -> Counts {
        [Compiled, CompiledByContent, CompiledStale, CompiledDistrusted, CompiledMalformed, Load]
            .map(|event| self.counts.value(event))
    }

    /// Loads, and requires these certificates and these counts.
    #[track_caller]
    fn expect_counted(&self, source: &Source, certificates: &[usize], counted: Counts) -> Arc<RootStore> {
        let before = self.compiled_counts();
        let store = self.cache.load(source).unwrap();
        assert_holds(&store, certificates);
        let now = self.compiled_counts();
        assert_eq!(std::array::from_fn(|slot| now[slot] - before[slot]), counted);
        store
    }

    /// The same, as a new process does it.
    #[track_caller]
    fn expect_anew(&self, source: &Source, certificates: &[usize], counted: Counts) {
        let system = Arc::clone(&self.world) as Arc<dyn System>;
        let cache = TrustCache::with_system(self.cache.config.clone(), Some(self.counts), system);
        let before = self.compiled_counts();
        assert_holds(&cache.load(source).unwrap(), certificates);
        let now = self.compiled_counts();
        assert_eq!(std::array::from_fn(|slot| now[slot] - before[slot]), counted);
    }
}

fn cafile(path: &Path) -> Source {
    Source::Cafile(path.to_owned())
}

#[test]
fn a_fresh_one_is_used_and_the_source_is_not_opened() {
    let bench = bench(MaxAge::default());
    let path = compiled(&bench, "ca.pem", &[0, 1, 0]);
    bench.on_open(|_| panic!("opened"));
    let first = bench.expect_counted(&cafile(&path), &[0, 1, 0], FRESH);
    let second = bench.expect_counted(&cafile(&path), &[0, 1, 0], NOTHING);
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(bench.counts(), [0, 1, 0, 0]);
    assert_eq!(bench.counts.value(BytesRead), 0);
    assert_eq!(first.source_bytes(), pem(&[0, 1, 0]).len() as u64);
}
