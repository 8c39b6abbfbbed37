//! What a followed store trusts at a moment, and the store that holds it.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use crate::append_list::AppendList;
use crate::fork_lock::ForkLock;

use crate::openssl::store::tracked;

use super::source::{Content, Source};
use super::successor::Held;

/// The contents of all sources, and a store that was made of exactly these.
pub struct Decision {
    pub contents: Vec<Content>,
    /// None: the program's own store, to which nothing has happened since it was loaded.
    pub successor: Option<Held>,
    number: AtomicUsize,
}

impl Decision {
    pub fn new(contents: Vec<Content>, successor: Option<Held>) -> Decision {
        Decision { contents, successor, number: AtomicUsize::new(0) }
    }

    /// Notes the number with the successor.
    pub fn number_successor(&self, sources: &AppendList<Source>) {
        let state = self.successor.as_ref().and_then(|held| tracked(held.store()));
        if let Some(following) = state.and_then(|state| state.follow.as_deref()) {
            following.number.store(self.number(sources), Ordering::Release);
        }
    }

    /// The number of the contents, from 1: the same for the same contents, in whichever store of this process.
    pub fn number(&self, sources: &AppendList<Source>) -> usize {
        let known = self.number.load(Ordering::Acquire);
        if known != 0 {
            return known;
        }
        let mut hash = Sha256::new();
        let mut is_lasting = true;
        for (content, source) in self.contents.iter().zip(sources.iter()) {
            is_lasting &= content.describe(&source.place, &mut hash);
            hash.update((source.needs().map_or(0, |file| file + 1) as u64).to_le_bytes());
        }
        let number = number_of(is_lasting.then(|| hash.finalize().into()));
        // Of two threads one has asked in vain.
        self.number.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire).err().unwrap_or(number)
    }
}

/// The number of the contents with this hash; a new one for contents that can't be known again.
fn number_of(hash: Option<[u8; 32]>) -> usize {
    static KNOWN: AppendList<[u8; 32]> = AppendList::new();
    /// The highest is that of no contents at all.
    static OTHERS: AtomicUsize = AtomicUsize::new(usize::MAX - 1);
    let find = |hash: &[u8; 32]| KNOWN.iter().position(|known| known == hash).map(|at| at + 1);
    // If two threads append the same hash, both find the first.
    let lasting = hash.and_then(|hash| find(&hash).or_else(|| KNOWN.try_push(hash).then(|| find(&hash))?));
    lasting.unwrap_or_else(|| OTHERS.fetch_sub(1, Ordering::Relaxed))
}

/// The newest decision. It is replaced as a whole, and lives as long as somebody uses it.
pub struct Latest {
    /// From `Arc::into_raw`.
    decision: AtomicPtr<Decision>,
    lock: ForkLock,
}

impl Latest {
    pub fn new(decision: Decision) -> Latest {
        Latest { decision: AtomicPtr::new(Arc::into_raw(Arc::new(decision)).cast_mut()), lock: ForkLock::new() }
    }

    pub fn get(&self) -> Arc<Decision> {
        let _guard = self.lock.lock();
        let decision = self.decision.load(Ordering::Acquire);
        // SAFETY: the pointer holds a reference, which is given up only after it was replaced under the lock.
        unsafe {
            Arc::increment_strong_count(decision);
            Arc::from_raw(decision)
        }
    }

    /// Whether a decision is still the newest.
    pub fn is(&self, decision: &Arc<Decision>) -> bool {
        ptr::eq(self.decision.load(Ordering::Acquire), Arc::as_ptr(decision))
    }

    /// Replaces a decision if it is still the newest and `is_wanted`. Returns whether it was replaced.
    pub fn replace(&self, old: &Arc<Decision>, next: &Arc<Decision>, is_wanted: impl FnOnce() -> bool) -> bool {
        let replaced = {
            let _guard = self.lock.lock();
            if !self.is(old) || !is_wanted() {
                return false;
            }
            self.decision.swap(Arc::into_raw(Arc::clone(next)).cast_mut(), Ordering::AcqRel)
        };
        // SAFETY: the reference that the pointer held. Freeing a store can run the program's code, so the lock is not
        // held.
        drop(unsafe { Arc::from_raw(replaced) });
        true
    }
}

impl Drop for Latest {
    fn drop(&mut self) {
        // SAFETY: the reference that the pointer held; nobody else has the list any more.
        drop(unsafe { Arc::from_raw(*self.decision.get_mut()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_contents_have_the_same_number() {
        let [one, other] = [[1; 32], [2; 32]].map(|hash| number_of(Some(hash)));
        assert!(one != 0 && other != 0 && one != other);
        assert_eq!([number_of(Some([1; 32])), number_of(Some([2; 32]))], [one, other]);
        let unknown = [number_of(None), number_of(None)];
        assert!(unknown[0] != unknown[1] && !unknown.contains(&one) && !unknown.contains(&other));
    }
}
