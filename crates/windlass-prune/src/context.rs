//! What planning knows, and what it has taken so far.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use windlass::Timestamp;
use windlass_journal::Directory;
use windlass_machine::places::read::Work;

use super::image::Image;
use super::packages::Packages;
use super::plan::Note;

/// What planning knows.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time by which certificates are judged.
    pub now: Timestamp,
    /// Valid test certificates go too.
    pub tests: bool,
    /// The last anchors of a hashed directory go too, and most of it.
    pub force: bool,
    /// Where the directories are, if not on this machine.
    pub image: Option<&'a Image>,
    /// Who owns what.
    pub packages: &'a Packages,
    /// What update-ca-certificates makes its links to: the distribution's certificates, and the administrator's.
    pub sources: [&'a Path; 2],
    /// What stores of .NET have taken.
    pub spent: Spent,
}

impl Context<'_> {
    /// A path, which holds no links, as programs know it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        self.image.map_or_else(|| path.to_owned(), |image| image.inside(path))
    }

    /// Whether a link in a directory leads to something.
    pub fn leads_somewhere(&self, directory: &Directory, name: &OsStr) -> bool {
        self.image.map_or_else(|| directory.leads_somewhere(name), |image| image.leads_somewhere(directory, name))
    }

    /// The bytes of the regular file that a name in a directory leads to.
    pub fn read_through(&self, directory: &Directory, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        match self.image {
            None => directory.read_through(name, limit),
            Some(image) => image.read_through(directory, name, limit),
        }
    }
}

/// Stores of one user that are looked through. .NET makes four, and one for each other name that a program gives.
const MAX_STORES: usize = 64;
/// What is read of all stores of one user.
pub const MAX_BYTES: usize = 1 << 30;

/// What looking through the stores of each user has taken. Whoever makes many of them, or such that are hard to
/// decrypt, holds nobody up but himself.
#[derive(Debug, Default)]
pub struct Spent(RefCell<BTreeMap<u32, Rc<OfUser>>>);

/// The same of one user.
#[derive(Debug, Default)]
pub struct OfUser {
    /// Decrypting.
    pub work: Work,
    stores: Cell<usize>,
    /// Reading.
    pub bytes: Cell<usize>,
}

impl Spent {
    /// What the stores of an owner have taken.
    pub fn by(&self, owner: u32) -> Rc<OfUser> {
        Rc::clone(self.0.borrow_mut().entry(owner).or_default())
    }

    /// Whether one more store of its owner is looked at. The first that is not tells of all.
    pub fn admits(&self, directory: &Directory, notes: &mut Vec<Note>) -> io::Result<bool> {
        let spent = self.by(directory.owner()?.0);
        let before = spent.stores.replace(spent.stores.get() + 1);
        if before == MAX_STORES {
            let what = format!("and what comes after it is not looked at: its owner has more than {MAX_STORES} stores");
            notes.push(Note::new(&directory.path, what, "name it, if you mean it"));
        }
        Ok(before < MAX_STORES)
    }
}
