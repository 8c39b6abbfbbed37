//! Limits on reading the stores of each user: no user can use up the share of others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use windlass_machine::places::read::Work;

use crate::check::Unseen;
use crate::machine::{Content, Machine};

/// The most stores read in one home, or on the rest of the machine.
const MAX_STORES: usize = 200;
/// The most bytes read from all of them.
const MAX_BYTES: u64 = 256 << 20;

/// The remaining budget of each home, and of the places outside homes.
pub struct Budgets<'a> {
    machine: &'a Machine<'a>,
    all: HashMap<Option<&'a Path>, Budget>,
}

/// The bytes and stores that may still be read from one home.
pub struct Budget {
    /// Remaining rounds of key derivation.
    pub work: Work,
    stores: usize,
    bytes: u64,
}

impl<'a> Budgets<'a> {
    /// Full budgets for all homes.
    pub fn of(machine: &'a Machine<'a>) -> Budgets<'a> {
        Budgets { machine, all: HashMap::new() }
    }

    /// The budget of the home that contains this path.
    pub fn for_path(&mut self, path: &Path) -> &mut Budget {
        let homes = self.machine.homes.iter().map(PathBuf::as_path).filter(|home| path.starts_with(home));
        let home = homes.max_by_key(|home| home.as_os_str().len());
        self.all.entry(home).or_insert_with(Budget::full)
    }
}

impl Budget {
    fn full() -> Budget {
        Budget { work: Work::default(), stores: MAX_STORES, bytes: MAX_BYTES }
    }

    /// Counts a store.
    pub fn store(&mut self, path: &Path) -> Result<(), Unseen> {
        let too_many = || Unseen::new(path, format!("it was not read: this home has more than {MAX_STORES} stores"));
        self.stores = self.stores.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    /// Whether nothing more can be read.
    pub fn is_spent(&self) -> bool {
        self.bytes == 0
    }

    /// Reads a file of a store.
    pub fn read(&mut self, machine: &Machine<'_>, path: &Path, limit: u64) -> Result<Content, Unseen> {
        if self.is_spent() {
            return Err(Unseen::new(
                path,
                format!("it was not read: the stores of this home have {} MiB", MAX_BYTES >> 20),
            ));
        }
        let content = machine.read(path, limit)?;
        self.bytes = self.bytes.saturating_sub(content.bytes.len() as u64);
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn each_home_has_its_own() {
        let image = Image::healthy();
        image.write("etc/passwd", "a:x:1:1::/home/a:/bin/sh\nb:x:2:2::/home/a/b:/bin/sh\n");
        std::fs::create_dir_all(image.path("home/a/b")).unwrap();
        let machine = Machine::new(Some(image.root()), &[], false);
        let mut budgets = Budgets::of(&machine);
        let path = Path::new("/home/a/x");
        assert!((0..MAX_STORES).all(|_| budgets.for_path(path).store(path).is_ok()));
        assert!(budgets.for_path(path).store(path).unwrap_err().why.ends_with("more than 200 stores"));
        for other in ["/home/a/b/x", "/home/ab", "/usr/x"] {
            assert!(budgets.for_path(Path::new(other)).store(path).is_ok(), "{other}");
        }
        budgets.for_path(path).bytes = 1;
        image.write("home/a/x", "two");
        assert!(budgets.for_path(path).read(&machine, path, 10).is_ok());
        assert!(budgets.for_path(path).read(&machine, path, 10).is_err());
    }
}
