//! Loads by entry point: by function, library and sources.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::event::{Load, Source};
use super::sum::Sum;

/// The most distinct entry points listed.
pub const MAX: usize = 4_000;
const MAX_INNER: usize = 50;

/// The loading functions, by process and source.
#[derive(Debug, Default)]
pub struct Entries {
    all: Vec<Entry>,
    by_key: HashMap<Key, usize>,
}

type Key = (String, String, Vec<Source>);

/// Calls of one function of one library with the same sources.
#[derive(Debug, Default)]
pub struct Entry {
    pub function: String,
    pub library: String,
    pub sources: Vec<Source>,
    /// Calls of the function.
    pub sum: Sum,
    /// Number of loads: certificates that a program adds to a store one by one are one load.
    pub loads: u64,
    pub failed: u64,
    /// Calls for which the library could not tell how many certificates they added.
    pub certificates_unknown: u64,
    pub slowest: u64,
    /// Change of the heap in bytes: the content of the store, and other memory left over from reading it.
    pub memory: i64,
    /// The processes that called it.
    pub processes: BTreeSet<usize>,
    /// Loading functions that it called internally, by function and source.
    pub inner: BTreeMap<(String, Vec<Source>), Sum>,
}

/// A call that another loading function made.
#[derive(Debug)]
pub struct Inner {
    pub depth: u32,
    function: String,
    sources: Vec<Source>,
    sum: Sum,
}

impl Inner {
    /// Keeps a call until its caller has returned.
    pub fn of(load: Load) -> Inner {
        let sum = Sum::of(&load);
        Inner { depth: load.depth, function: load.entry, sources: load.sources, sum }
    }
}

impl Entries {
    /// In the order of their first return.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.all.iter()
    }

    /// Adds a call. Returns its entry point; `None` if there were too many.
    pub fn add(&mut self, load: &Load, process: Option<usize>, inner: Vec<Inner>) -> Option<usize> {
        let library = load.library.clone().unwrap_or_default();
        let key = (library, load.entry.clone(), load.sources.clone());
        let place = match self.by_key.get(&key) {
            Some(place) => *place,
            None if self.all.len() >= MAX => return None,
            None => {
                self.all.push(Entry::new(&key));
                self.by_key.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        if let Some(entry) = self.all.get_mut(place) {
            entry.add(load, process, inner);
        }
        Some(place)
    }
}

impl Entry {
    fn new((library, function, sources): &Key) -> Entry {
        Entry { function: function.clone(), library: library.clone(), sources: sources.clone(), ..Entry::default() }
    }

    fn add(&mut self, load: &Load, process: Option<usize>, inner: Vec<Inner>) {
        self.sum.add(Sum::of(load));
        self.loads += u64::from(!load.more);
        self.failed += u64::from(load.failed() && !load.more);
        self.certificates_unknown += u64::from(load.parsed().is_none() && !load.more);
        self.slowest = self.slowest.max(load.wall.unwrap_or(0));
        self.memory = self.memory.saturating_add(load.memory.unwrap_or(0));
        self.processes.extend(process);
        // Deeper calls are part of these.
        for call in inner.into_iter().filter(|call| call.depth == 1) {
            let key = (call.function, call.sources);
            if self.inner.len() < MAX_INNER || self.inner.contains_key(&key) {
                self.inner.entry(key).or_default().add(call.sum);
            }
        }
    }
}
