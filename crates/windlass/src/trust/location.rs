//! A place that says what is trusted, looked at on each use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cache::TrustCache;
use crate::error::LoadError;
use crate::source::p11_kit::{self, Tree, TreeState};
use crate::source::system::{Real, System};
use crate::trust::TrustStore;

/// How often a place may change between two looks at it.
const ATTEMPTS: usize = 5;

/// A p11-kit directory, or one file: a PEM bundle, certdata.txt, a .p11-kit file, or a certificate.
///
/// Nothing there is nothing said, as for p11-kit-trust: a machine need not have all the places that it might.
pub struct TrustLocation {
    path: PathBuf,
    last: Mutex<Option<Last>>,
}

struct Last {
    state: TreeState,
    believed: bool,
    /// Of the files' bytes, to know them again if the state is not believed.
    content: u128,
    store: Arc<TrustStore>,
}

impl TrustLocation {
    /// Nothing is looked at yet.
    pub fn new(path: PathBuf) -> TrustLocation {
        TrustLocation { path, last: Mutex::new(None) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is said there now. If nothing has changed that costs one `stat` for each directory and file, and one
    /// `faccessat` for each file. A bundle is taken from `cache`, which knows compiled stores.
    pub fn load(&self, cache: &TrustCache) -> Result<Arc<TrustStore>, LoadError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = last.as_ref();
        if let Some(seen) = seen
            && seen.believed
            && p11_kit::is_unchanged(&seen.state)?
        {
            return Ok(Arc::clone(&seen.store));
        }
        let system: &dyn System = &Real;
        for _ in 0..ATTEMPTS {
            let tree = p11_kit::read(&self.path, system)?;
            let content = tree.checksum();
            if let Some(seen) = seen.filter(|seen| seen.content == content && seen.state.has_same_names(&tree.state)) {
                let store = Arc::clone(&seen.store);
                *last = Some(Last { state: tree.state, believed: tree.believed, content, store: Arc::clone(&store) });
                return Ok(store);
            }
            let store = Arc::new(self.index(&tree, cache)?);
            // A bundle was looked at twice: by us, and by the cache.
            if p11_kit::is_unchanged(&tree.state)? {
                *last = Some(Last { state: tree.state, believed: tree.believed, content, store: Arc::clone(&store) });
                return Ok(store);
            }
        }
        Err(LoadError::ChangedWhileReading { path: self.path.clone() })
    }

    fn index(&self, tree: &Tree, cache: &TrustCache) -> Result<TrustStore, LoadError> {
        if tree.may_be_a_bundle() {
            match cache.load_cafile(&self.path) {
                Ok(anchors) => return Ok(TrustStore::of_anchors(anchors)),
                // p11-kit reads more than every OpenSSL does, and passes over what it can't read.
                Err(LoadError::Unsupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let unsupported = |what| LoadError::Unsupported { path: self.path.clone(), what };
        TrustStore::of_sayings(tree.sayings()?).map_err(unsupported)
    }
}
