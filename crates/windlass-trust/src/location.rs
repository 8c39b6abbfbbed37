//! A place with trust statements, checked for changes on each use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use windlass::LoadError;
use windlass::TrustCache;

use crate::p11_kit::{self, Tree, TreeState};
use crate::{TrustStore, is_certificate};

/// How often loading is tried while a place keeps changing.
const ATTEMPTS: usize = 5;

/// A p11-kit directory, or one file: a PEM bundle, certdata.txt, a .p11-kit file, or a certificate.
///
/// A missing place means no statements, as for p11-kit-trust: a machine need not have all possible places.
pub struct TrustLocation {
    path: PathBuf,
    last: Mutex<Option<Last>>,
}

struct Last {
    state: TreeState,
    believed: bool,
    /// Checksum of the files' bytes, which identifies them if the state is not believed.
    content: u128,
    /// The first fault in reading the files.
    fault: Option<LoadError>,
    store: Arc<TrustStore>,
}

impl TrustLocation {
    /// A place that has not been read yet.
    pub fn new(path: PathBuf) -> TrustLocation {
        TrustLocation { path, last: Mutex::new(None) }
    }

    /// The path of the place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The statements that are there now; see [`TrustStore::fault`] for unreadable parts. If nothing has changed, this
    /// costs one `stat` for each directory and file, and one `faccessat` for each file. A bundle is taken from `cache`,
    /// which uses compiled stores.
    ///
    /// Content that keeps changing is served as it was last read, and read again at the next call.
    pub fn load(&self, cache: &TrustCache) -> Arc<TrustStore> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = last.as_ref()
            && seen.believed
            && p11_kit::is_unchanged(&seen.state)
        {
            return Arc::clone(&seen.store);
        }
        let mut attempt = 0;
        loop {
            attempt += 1;
            let is_last_attempt = attempt == ATTEMPTS;
            let tree = p11_kit::read(&self.path);
            // Certificates that were distrusted stay distrusted while the place can't be read.
            if let (Some(fault), Some(seen)) = (&tree.fault, last.as_ref())
                && tree.is_passing
            {
                return Arc::new(seen.store.with_fault(fault.clone()));
            }
            let content = tree.checksum();
            let is_known = |seen: &&Last| {
                seen.content == content && seen.fault == tree.fault && seen.state.has_same_names(&tree.state)
            };
            let known = last.as_ref().filter(is_known).map(|seen| Arc::clone(&seen.store));
            let is_known = known.is_some();
            let store = match known {
                Some(store) => store,
                None => match self.index(&tree, (!is_last_attempt).then_some(cache)) {
                    Ok(store) => Arc::new(store),
                    // Out of memory. The next call tries again.
                    Err(fault) => {
                        let before = last.as_ref().map(|seen| seen.store.with_fault(fault.clone()));
                        return Arc::new(before.unwrap_or_else(|| TrustStore::unread(fault)));
                    }
                },
            };
            // A bundle was checked twice: here, and by the cache.
            let is_settled = is_known || p11_kit::is_unchanged(&tree.state);
            if is_settled || is_last_attempt {
                let Tree { state, believed, fault, .. } = tree;
                let believed = believed && is_settled;
                *last = Some(Last { state, believed, content, fault, store: Arc::clone(&store) });
                return store;
            }
        }
    }

    fn index(&self, tree: &Tree, cache: Option<&TrustCache>) -> Result<TrustStore, LoadError> {
        // p11-kit reads more than every OpenSSL does, and skips parts that it can't read; OpenSSL also reads forms that
        // p11-kit can't.
        if let Some(cache) = cache.filter(|_| tree.may_be_a_bundle())
            && let Ok(anchors) = cache.load_cafile(&self.path)
            && anchors.anchors().all(|anchor| is_certificate(anchor.der()))
        {
            return Ok(TrustStore::of_anchors(anchors));
        }
        let (said, fault) = tree.sayings();
        TrustStore::of_sayings(said, fault).map_err(|what| LoadError::Unsupported { path: self.path.clone(), what })
    }
}
