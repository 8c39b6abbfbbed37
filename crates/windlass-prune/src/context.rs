//! The input of planning, and the resources that it has used.

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

/// The input of planning.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time at which certificates are judged.
    pub now: Timestamp,
    /// Remove valid test certificates too.
    pub tests: bool,
    /// Remove even the last anchors of a hashed directory, or most of its files.
    pub force: bool,
    /// The image that holds the directories; None for this machine.
    pub image: Option<&'a Image>,
    /// The packages that own files.
    pub packages: &'a Packages,
    /// The directories that update-ca-certificates links to: the distribution's certificates, and the administrator's.
    pub sources: [&'a Path; 2],
    /// The resources used on .NET stores, by user.
    pub spent: Spent,
}

impl Context<'_> {
    /// The path by which programs know a path without links.
    pub fn inside(&self, path: &Path) -> PathBuf {
        self.image.map_or_else(|| path.to_owned(), |image| image.inside(path))
    }

    /// Whether a link in a directory has a target that exists.
    pub fn leads_somewhere(&self, directory: &Directory, name: &OsStr) -> bool {
        self.image.map_or_else(|| directory.leads_somewhere(name), |image| image.leads_somewhere(directory, name))
    }

    /// The content of the regular file that a name in a directory leads to.
    pub fn read_through(&self, directory: &Directory, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        match self.image {
            None => directory.read_through(name, limit),
            Some(image) => image.read_through(directory, name, limit),
        }
    }
}

/// The most stores of one user that are read. .NET makes four, and one for each other name that a program asks for.
const MAX_STORES: usize = 64;
/// The most bytes read from all stores of one user.
pub const MAX_BYTES: usize = 1 << 30;

/// The resources used on the stores of each user. A user who makes many stores, or stores that are slow to decrypt,
/// delays only his own.
#[derive(Debug, Default)]
pub struct Spent(RefCell<BTreeMap<u32, Rc<OfUser>>>);

/// The resources used on the stores of one user.
#[derive(Debug, Default)]
pub struct OfUser {
    /// Work spent on decryption.
    pub work: Work,
    stores: Cell<usize>,
    /// Bytes read.
    pub bytes: Cell<usize>,
}

impl Spent {
    /// The resources used on the stores of an owner.
    pub fn by(&self, owner: u32) -> Rc<OfUser> {
        Rc::clone(self.0.borrow_mut().entry(owner).or_default())
    }

    /// Whether one more store of its owner may be read. The first refusal adds a note that covers all.
    pub fn admits(&self, directory: &Directory, notes: &mut Vec<Note>) -> io::Result<bool> {
        let spent = self.by(directory.owner()?.0);
        let before = spent.stores.replace(spent.stores.get() + 1);
        if before == MAX_STORES {
            let what =
                format!("is not examined, nor are the stores after it: its owner has more than {MAX_STORES} stores");
            notes.push(Note::new(&directory.path, what, "name it, if you mean it"));
        }
        Ok(before < MAX_STORES)
    }
}
