//! The hash of the tables: XXH3 with a seed that nobody outside of the process knows. It costs less than std's hash, and a
//! program that loads each file of a directory asks for nothing else as often.

use std::hash::{BuildHasher, Hasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

#[derive(Clone)]
pub(super) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Seeded {
        Seeded(RandomState::new().hash_one(()))
    }
}

impl BuildHasher for Seeded {
    type Hasher = State;

    fn build_hasher(&self) -> State {
        State(self.0)
    }
}

pub(super) struct State(u64);

impl Hasher for State {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
