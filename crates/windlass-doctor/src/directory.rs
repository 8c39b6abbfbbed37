//! A hashed directory, name by name, with the certificates that OpenSSL finds in it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use windlass::SubjectHash;
use windlass_machine::places::hash_name::HashName;

use super::bundle::{Contents, Placed, standing};
use super::certificate::Fingerprint;
use super::check::Unseen;
use super::machine::{Entry, Machine, Target};

/// In bytes. A file of a hashed directory holds one certificate, or a few.
const MAX_FILE: u64 = 4 << 20;
/// In bytes, for all files of a directory together.
const MAX_TOTAL: u64 = 256 << 20;
/// The bytes charged for a name, besides its file.
const OF_NAME: u64 = 128;

/// A directory in which OpenSSL looks up certificates.
#[derive(Debug)]
pub struct Directory {
    /// Its path without links, as programs of the machine name it.
    pub real: PathBuf,
    /// Names that are hashes, or that look like certificate files, sorted.
    pub items: Vec<Item>,
    /// The paths that could not be examined.
    pub unseen: Vec<Unseen>,
}

/// A name in the directory.
#[derive(Debug)]
pub struct Item {
    /// The path, as programs of the machine name it.
    pub path: PathBuf,
    /// The hash name by which OpenSSL looks it up; `None` for another name, which is only a target of hash names.
    pub name: Option<HashName>,
    /// Whether it is a symbolic link.
    pub is_link: bool,
    /// The file or directory that the name leads to.
    pub leads: Leads,
}

/// The target of a name.
#[derive(Clone, Debug)]
pub enum Leads {
    /// A regular file. Names of the same file share it.
    To(Rc<File>),
    /// A dangling link.
    Nowhere,
    /// A directory, a device, or a file that could not be read.
    Elsewhere,
}

/// A file in the directory.
#[derive(Debug)]
pub struct File {
    /// Whether libcrypto may parse it.
    pub is_ours: bool,
    /// The blocks of the file.
    pub contents: Contents,
}

impl Directory {
    /// Reads the names of a directory and the files they lead to.
    pub fn read(machine: &Machine<'_>, path: &Path) -> Result<Directory, Unseen> {
        Directory::read_within(machine, path, &mut MAX_TOTAL.clone())
    }

    /// Reads a directory within a limit of bytes, and subtracts the bytes that were read. Names are charged too.
    pub fn read_within(machine: &Machine<'_>, path: &Path, left: &mut u64) -> Result<Directory, Unseen> {
        let (entries, more) = machine.entries(path)?;
        *left = left.saturating_sub(OF_NAME * entries.len() as u64);
        let mut reading = Reading { machine, files: HashMap::new(), left, unseen: more.into_iter().collect() };
        let items = entries.into_iter().filter_map(|entry| reading.item(entry)).collect();
        Ok(Directory { real: machine.real(path), items, unseen: reading.unseen })
    }

    /// Whether it is in use as a hashed directory.
    pub fn is_hashed(&self) -> bool {
        self.items.iter().any(|item| item.name.is_some())
    }

    /// Hash names of certificates, in the order in which OpenSSL looks them up.
    pub fn rows(&self) -> BTreeMap<(SubjectHash, bool), Vec<(u32, &Item)>> {
        let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for item in &self.items {
            if let Some(name) = item.name {
                rows.entry((name.hash, name.is_crl)).or_default().push((name.number, item));
            }
        }
        rows.values_mut().for_each(|row| row.sort_unstable_by_key(|(number, _)| *number));
        rows
    }

    /// The names of certificates that OpenSSL reaches: for each hash, those before the first missing number.
    pub fn reached(&self) -> impl Iterator<Item = &Item> {
        let rows = self.rows().into_iter().filter(|((_, is_crl), _)| !is_crl);
        rows.flat_map(|(_, row)| {
            (0..).zip(row).take_while(|(expected, (number, _))| expected == number).map(|(_, (_, item))| item)
        })
    }

    /// The certificates that OpenSSL finds by subject and trusts, each with its name.
    pub fn found(&self) -> impl Iterator<Item = (&Item, &Placed)> {
        let trusted = self.fingerprints();
        self.met().filter(move |(_, placed)| trusted.contains(&placed.certificate.fingerprint))
    }

    /// The fingerprints of these certificates, each once.
    pub fn fingerprints(&self) -> BTreeSet<Fingerprint> {
        self.standing().0
    }

    /// The certificates that OpenSSL finds by subject: those that it trusts, and those that it refuses.
    pub fn standing(&self) -> (BTreeSet<Fingerprint>, BTreeSet<Fingerprint>) {
        standing(self.met().map(|(_, placed)| &placed.certificate))
    }

    /// The certificates in files without a hash link: `openssl rehash` makes links for those that are alone in a file.
    pub fn unlinked(&self) -> BTreeSet<Fingerprint> {
        let files = self.items.iter().filter(|item| item.name.is_none()).map(Item::certificates);
        files.filter(|all| all.len() == 1).flatten().map(|placed| placed.certificate.fingerprint).collect()
    }

    fn met(&self) -> impl Iterator<Item = (&Item, &Placed)> {
        self.reached().flat_map(|item| {
            item.certificates().iter().filter(|placed| item.is_hash_of(placed)).map(move |placed| (item, placed))
        })
    }
}

impl Item {
    /// The file that the name leads to.
    pub fn file(&self) -> Option<&File> {
        if let Leads::To(file) = &self.leads { Some(file) } else { None }
    }

    /// The certificates in the file that it leads to.
    pub fn certificates(&self) -> &[Placed] {
        self.file().map_or(&[], |file| &file.contents.certificates)
    }

    /// The file name, without the directory.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether its name is the subject hash of this certificate, as far as the hash is known.
    pub fn is_hash_of(&self, placed: &Placed) -> bool {
        let Some(says) = &placed.certificate.says else { return true };
        self.name.is_some_and(|name| says.subject_hash().is_none_or(|hash| hash == name.hash))
    }
}

struct Reading<'a> {
    machine: &'a Machine<'a>,
    /// Files already read, by device and inode.
    files: HashMap<(u64, u64), Leads>,
    left: &'a mut u64,
    unseen: Vec<Unseen>,
}

impl Reading<'_> {
    fn item(&mut self, entry: Entry) -> Option<Item> {
        let text = entry.name.to_str();
        let name = HashName::parse(&entry.name);
        // Names that `openssl rehash` accepts (apps/rehash.c).
        let is_candidate = text.is_some_and(|name| [".pem", ".crt", ".cer"].iter().any(|end| name.ends_with(end)));
        if name.is_none() && !is_candidate {
            return None;
        }
        let leads = self.leads(&entry.path, name.is_some());
        Some(Item { path: entry.path, name, is_link: entry.is_link, leads })
    }

    fn leads(&mut self, path: &Path, is_hashed: bool) -> Leads {
        let metadata = match self.machine.look(path) {
            Ok(Target::File(metadata)) => metadata,
            Ok(Target::Nothing | Target::Dangling) => return Leads::Nowhere,
            Ok(Target::Directory | Target::Other) => return Leads::Elsewhere,
            Err(unseen) => return self.not_seen(unseen),
        };
        if let Some(known) = self.files.get(&(metadata.dev(), metadata.ino())) {
            return known.clone();
        }
        if !is_hashed && metadata.len() > MAX_FILE {
            // A bundle that lies in the directory. OpenSSL does not reach it.
            return Leads::Elsewhere;
        }
        self.read(path)
    }

    fn read(&mut self, path: &Path) -> Leads {
        let content = match self.machine.read(path, MAX_FILE.min(*self.left)) {
            Ok(content) => content,
            Err(_) if *self.left < MAX_FILE => {
                return self
                    .not_seen(Unseen::new(path, "it was not read: the limit for all files together is reached"));
            }
            Err(unseen) => return self.not_seen(unseen),
        };
        *self.left -= content.bytes.len() as u64;
        let is_ours = content.is_ours();
        let libcrypto = self.machine.libcryptos.first().filter(|_| is_ours);
        let leads = Leads::To(Rc::new(File { is_ours, contents: Contents::of(&content.bytes, libcrypto) }));
        self.files.insert((content.metadata.dev(), content.metadata.ino()), leads.clone());
        leads
    }

    fn not_seen(&mut self, unseen: Unseen) -> Leads {
        self.unseen.push(unseen);
        Leads::Elsewhere
    }
}
