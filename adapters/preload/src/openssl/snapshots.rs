//! The parsed certificates of all root stores, shared by all stores of a libcrypto that may share them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use windlass::RootStore;

use crate::for_each_process::ForEachProcess;
use crate::openssl::keys;
use crate::openssl::libcrypto::Libcrypto;
use crate::openssl::snapshot::Snapshot;

/// Keyed by the addresses of the library and of the root store, and by the number of changes to readable keys
/// (`keys::changes`) at their creation.
type Snapshots = HashMap<(usize, usize, usize), Arc<Snapshot>, BuildHasherDefault<Addresses>>;

/// A hash for our own addresses, which no one else can choose.
#[derive(Default)]
struct Addresses(u64);

impl Hasher for Addresses {
    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn of_this_process() -> &'static Mutex<Snapshots> {
    static SNAPSHOTS: ForEachProcess<Mutex<Snapshots>> = ForEachProcess::new();
    SNAPSHOTS.get(|parent| Mutex::new(parent.map_or_else(Snapshots::default, adopted)))
}

fn adopted(parent: &Mutex<Snapshots>) -> Snapshots {
    let mut snapshots = Snapshots::default();
    match parent.try_lock() {
        // Snapshots without memory for their entry are made again.
        Ok(known) if snapshots.try_reserve(known.len()).is_ok() => {
            snapshots.extend(known.iter().map(|(key, snapshot)| (*key, Arc::clone(snapshot))));
        }
        Ok(_) | Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => {}
    }
    snapshots
}

/// The parsed certificates of one root store for one libcrypto, the same for all callers. None if there is no memory
/// for them.
pub fn of(library: &'static Libcrypto, roots: Arc<RootStore>) -> Option<Arc<Snapshot>> {
    let changes = keys::changes() as usize;
    let key = (ptr::from_ref(library) as usize, Arc::as_ptr(&roots) as usize, changes);
    let mut replaced = Vec::new();
    let mut snapshots = of_this_process().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(snapshot) = snapshots.get(&key) {
        return Some(Arc::clone(snapshot));
    }
    // Sweeping at every insertion would be quadratic for a directory of thousands of files.
    if snapshots.len() < 64 || snapshots.len().is_power_of_two() {
        let abandoned = snapshots.values().filter(|snapshot| snapshot.is_abandoned()).count();
        if replaced.try_reserve_exact(abandoned).is_ok() {
            replaced.extend(snapshots.extract_if(|_, snapshot| snapshot.is_abandoned()).take(abandoned));
        }
    }
    snapshots.try_reserve(1).ok()?;
    let snapshot = Arc::new(Snapshot::new(library, roots)?);
    snapshots.insert(key, Arc::clone(&snapshot));
    drop(snapshots);
    // Frees certificates, so it must not happen under the lock.
    drop(replaced);
    Some(snapshot)
}
