//! The hash for tables inside other programs: XXH3 with a seed that nobody outside the process knows. It costs less
//! than std's hash, and hashing is the most frequent operation in a program that loads each file of a directory. Also,
//! std asks the kernel for a seed in each new thread (getrandom), which a process behind a system call filter may not
//! do.

use std::hash::{BuildHasher, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Makes hashers. Each table has its own seed.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Default for Seeded {
    /// The seed is the addresses of this library and of this thread's stack, which differ in each process.
    fn default() -> Seeded {
        static PLACED: u8 = 0;
        let stack = 0_u8;
        let places = [&raw const PLACED, &raw const stack].map(|place| (place as u64).to_le_bytes());
        Seeded(xxh3_64_with_seed(places.as_flattened(), 0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = SeededHasher;

    fn build_hasher(&self) -> SeededHasher {
        SeededHasher(self.0)
    }
}

/// The hasher that [`Seeded`] makes.
#[derive(Clone, Debug)]
pub struct SeededHasher(u64);

impl Hasher for SeededHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
