//! Hash tables and fingerprints that make no system call: std's hasher calls getrandom, in each thread anew.

use std::hash::BuildHasher;
#[allow(deprecated)] // the only SipHash in std that takes keys; its replacement generates its own
use std::hash::SipHasher;

use windlass::Seeded;

pub type HashSet<T> = std::collections::HashSet<T, Seeded>;
pub type HashMap<K, V> = std::collections::HashMap<K, V, Seeded>;

/// SipHash with a key that is secret to the process: the kernel gives each program 16 random bytes (getauxval(3),
/// `AT_RANDOM`).
#[derive(Clone, Debug)]
pub struct Keyed(u64, u64);

impl Keyed {
    /// A different key for each purpose.
    pub fn new(purpose: u64) -> Keyed {
        // SAFETY: no preconditions; the kernel's bytes live as long as the process, or the result is 0.
        let random = unsafe {
            let bytes = libc::getauxval(libc::AT_RANDOM) as *const [u64; 2];
            if bytes.is_null() { [0; 2] } else { bytes.read_unaligned() }
        };
        let [first, second] = random;
        Keyed(first, second ^ purpose)
    }
}

impl BuildHasher for Keyed {
    #[allow(deprecated)]
    type Hasher = SipHasher;

    #[allow(deprecated)]
    fn build_hasher(&self) -> SipHasher {
        SipHasher::new_with_keys(self.0, self.1)
    }
}
