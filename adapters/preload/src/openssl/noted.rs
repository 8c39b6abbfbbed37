//! Which events a store of OpenSSL 4.0 has had already.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex};

use crate::openssl::held::encoding;
use crate::openssl::library::Served;
use crate::openssl::order::Event;
use crate::tables::{HashSet, Keyed};

/// What is among the events of a store of 4.0, where nothing is settled before the table becomes a stack: what was noted once
/// changes nothing when it comes again, however often a program adds it or a directory gives it.
pub struct Noted {
    keys: (Keyed, Keyed),
    known: Mutex<HashSet<[u64; 2]>>,
}

impl Default for Noted {
    fn default() -> Noted {
        Noted { keys: (Keyed::new(1), Keyed::new(2)), known: Mutex::default() }
    }
}

impl Noted {
    /// Whether an event has not been noted before; it counts as noted from now on.
    pub fn is_new(&self, served: &Served, event: &Event) -> bool {
        let fingerprint = match event {
            Event::Base(..) => return true,
            // Replays of a table do not search.
            Event::Find => return false,
            Event::Load(registration) => self.fingerprint(&Arc::as_ptr(registration)),
            // SAFETY: the event holds the certificate.
            Event::Added(held) => self.fingerprint(&unsafe { encoding(&served.api, held.certificate) }),
        };
        // Only a child that was forked in the middle finds it locked: the state's lock is held.
        // For want of memory it is taken for new: it may then be noted twice.
        self.known.try_lock().map_or(true, |mut known| known.try_reserve(1).is_err() || known.insert(fingerprint))
    }

    fn fingerprint(&self, of: &impl std::hash::Hash) -> [u64; 2] {
        [self.keys.0.hash_one(of), self.keys.1.hash_one(of)]
    }
}
