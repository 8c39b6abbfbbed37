//! What is watched: the files and directories that hold trust, in every root directory that a process has.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Stat};
use serde::Serialize;

use super::marks::Marks;
use super::roots::{Found, Namespace, RootDirectory, RootId};
use super::users::Users;
use crate::places::{self, PlaceKind};

/// Files of one directory that are watched. The largest known store had some two thousand.
const ENTRIES: usize = 100_000;
/// A package that is installed later brings places of its own. Looking for them goes through homes.
const PLACES_AGE: Duration = Duration::from_secs(60);
/// There may be hundreds of containers.
const PLACES_AGE_ELSEWHERE: Duration = Duration::from_secs(600);
/// How often directories are gone through that look unchanged: what their links lead to may have been exchanged.
const ENTRIES_AGE: Duration = Duration::from_secs(10);

/// A file or directory that holds trust.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// Its path in its root directory, links resolved.
    #[serde(serialize_with = "crate::processes::lossy::path")]
    pub path: PathBuf,
    /// What it is.
    pub kind: SourceKind,
    /// Who uses it.
    pub why: String,
    /// Where it is not in the root directory of this process: the number of the mount namespace.
    pub mount_namespace: Option<Namespace>,
    /// The files of a directory.
    pub files: usize,
}

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A bundle, keystore or database.
    File,
    /// A directory with a file for each certificate.
    Directory,
}

/// Device and inode.
type Inode = (u64, u64);

/// All sources, and which one an opened file belongs to.
#[derive(Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
    known: HashMap<(Option<Namespace>, PathBuf), usize>,
    // Entries stay when a file is replaced: events about the old one may wait.
    files: HashMap<Inode, usize>,
    directories: HashMap<Inode, usize>,
    entries: HashMap<Inode, usize>,
    /// When a directory was last gone through, and its times then.
    states: HashMap<Inode, (Instant, DirectoryTimes)>,
    places: HashMap<RootId, (Instant, Vec<Wanted>)>,
    named: Vec<PathBuf>,
    /// Directories in which a change may mean another file behind a name.
    parents: HashSet<PathBuf>,
}

type DirectoryTimes = (i64, i64, i64, i64);

#[derive(Clone, Debug)]
struct Wanted {
    path: PathBuf,
    /// Without links, in its root directory.
    real: PathBuf,
    why: String,
}

impl Sources {
    /// With paths that were named on the command line, besides those that are known.
    pub fn new(named: Vec<PathBuf>) -> Sources {
        Sources { named, ..Sources::default() }
    }

    /// All of them; the numbers of [`Self::of`] are places in it.
    pub fn list(&self) -> &[Source] {
        &self.list
    }

    /// The source that an opened file or directory belongs to. A file that is a source itself and also lies in a directory that is
    /// one counts for itself.
    pub fn of(&self, stat: &Stat) -> Option<usize> {
        let inode = inode(stat);
        if is_directory(stat) {
            return self.directories.get(&inode).copied();
        }
        self.files.get(&inode).or_else(|| self.entries.get(&inode)).copied()
    }

    /// The directories in which a change may mean another file behind a name.
    pub fn parents(&self) -> impl Iterator<Item = &Path> {
        self.parents.iter().map(PathBuf::as_path)
    }

    /// Finds what is there now, and marks it. What can't be marked (a file system that does not report) is left out.
    pub fn refresh(&mut self, marks: &Marks) {
        let Ok(own) = RootDirectory::own() else { return };
        let others = RootDirectory::others(own.id);
        self.places.retain(|id, _| *id == own.id || others.iter().any(|other| other.id == *id));
        for (root, namespace) in
            std::iter::once((&own, None)).chain(others.iter().map(|other| (other, Some(other.id.namespace()))))
        {
            let found: Vec<_> = self
                .wanted(root, namespace.is_none())
                .into_iter()
                .filter_map(|wanted| Some((root.find(&wanted.path)?, wanted)))
                .collect();
            // Files first, so that a bundle in a hashed directory is known as what it is.
            for (found, wanted) in found.iter().filter(|(found, _)| is_file(&found.stat)) {
                self.add_file(namespace, found, wanted, marks);
            }
            for (found, wanted) in found.iter().filter(|(found, _)| is_directory(&found.stat)) {
                self.add_directory(root, namespace, found, wanted, marks);
            }
        }
    }

    fn wanted(&mut self, root: &RootDirectory, is_own: bool) -> Vec<Wanted> {
        let age = if is_own { PLACES_AGE } else { PLACES_AGE_ELSEWHERE };
        if let Some((_, places)) = self.places.get(&root.id).filter(|(read, _)| read.elapsed() < age) {
            return places.clone();
        }
        let passwd = root.find(Path::new("/etc/passwd")).filter(|found| is_file(&found.stat));
        let users =
            passwd.and_then(|passwd| Some(Users::read(std::fs::File::open(passwd.path()).ok()?))).unwrap_or_default();
        let known = places::known(&root.path, users.homes()).into_iter();
        // A `.module` file says which module p11-kit loads; it holds no trust.
        let known = known.filter(|place| place.kind != PlaceKind::P11KitModule);
        let known = known.map(|place| {
            let here = place.here(&root.path);
            let real = here.strip_prefix(&root.path).map(|real| Path::new("/").join(real));
            Wanted { real: real.unwrap_or_else(|_| place.path.clone()), path: place.path, why: place.why }
        });
        let named = self.named.iter().filter(|_| is_own);
        let named = named.map(|path| Wanted { path: path.clone(), real: path.clone(), why: "--watch".to_owned() });
        let wanted: Vec<_> = named.chain(known).collect();
        self.places.insert(root.id, (Instant::now(), wanted.clone()));
        wanted
    }

    fn add_file(&mut self, namespace: Option<Namespace>, found: &Found, wanted: &Wanted, marks: &Marks) {
        if namespace.is_none() {
            self.watch_parent(&wanted.path);
        }
        let inode = inode(&found.stat);
        // In many namespaces it is the very file that is known already.
        if marks.file(&found.path()).is_ok() && !self.files.contains_key(&inode) {
            let source = self.source(namespace, SourceKind::File, found, wanted);
            self.files.insert(inode, source);
        }
    }

    fn add_directory(
        &mut self,
        root: &RootDirectory,
        namespace: Option<Namespace>,
        found: &Found,
        wanted: &Wanted,
        marks: &Marks,
    ) {
        let inode = inode(&found.stat);
        if namespace.is_none() {
            self.watch_parent(&wanted.path);
            self.watch_directory(&wanted.path);
        }
        if marks.directory(&found.path()).is_err() {
            return;
        }
        let source = match self.directories.get(&inode) {
            Some(source) => *source,
            None => self.source(namespace, SourceKind::Directory, found, wanted),
        };
        self.directories.insert(inode, source);
        let Ok(now) = std::fs::metadata(found.path()) else { return };
        let times = (now.mtime(), now.mtime_nsec(), now.ctime(), now.ctime_nsec());
        let is_fresh =
            |(gone_through, then): &(Instant, DirectoryTimes)| gone_through.elapsed() < ENTRIES_AGE && *then == times;
        if self.states.get(&inode).is_some_and(is_fresh) {
            return;
        }
        self.states.insert(inode, (Instant::now(), times));
        let files = self.add_entries(root, namespace, found, wanted, source, marks);
        self.list[source].files = files;
    }

    /// Files that lie in the directory are reported by its own mark; those that its links lead to need one each.
    fn add_entries(
        &mut self,
        root: &RootDirectory,
        namespace: Option<Namespace>,
        directory: &Found,
        wanted: &Wanted,
        source: usize,
        marks: &Marks,
    ) -> usize {
        let mut files = HashSet::new();
        let own = inode(&directory.stat);
        for entry in std::fs::read_dir(directory.path()).into_iter().flatten().flatten().take(ENTRIES) {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let path = wanted.path.join(entry.file_name());
            let Some(found) = root.find(&path).filter(|found| is_file(&found.stat)) else { continue };
            if is_link && marks.file(&found.path()).is_err() {
                continue;
            }
            if is_link && namespace.is_none() {
                let real = std::fs::read_link(found.path()).unwrap_or_default();
                self.watch_target(&real);
            }
            let inode = inode(&found.stat);
            // The first keeps it: containers may share the files of this root directory, and have directories of their own.
            self.entries.entry(inode).or_insert(source);
            if inode != own {
                files.insert(inode);
            }
        }
        files.len()
    }

    fn source(&mut self, namespace: Option<Namespace>, kind: SourceKind, found: &Found, wanted: &Wanted) -> usize {
        // The kernel's name for it is of use in the own root directory only; it is newer than the other one.
        let real = if namespace.is_none() { std::fs::read_link(found.path()).ok() } else { None };
        let path = real.unwrap_or_else(|| wanted.real.clone());
        *self.known.entry((namespace, path.clone())).or_insert_with(|| {
            self.list.push(Source { path, kind, why: wanted.why.clone(), mount_namespace: namespace, files: 0 });
            self.list.len() - 1
        })
    }

    /// The directory of a name, and the one where its links end.
    fn watch_parent(&mut self, path: &Path) {
        let real = path.canonicalize().ok();
        for path in [Some(path.to_path_buf()), real].into_iter().flatten() {
            self.watch_target(&path);
        }
    }

    fn watch_target(&mut self, path: &Path) {
        if let Some(parent) = path.parent().filter(|parent| !self.parents.contains(*parent)) {
            self.parents.insert(parent.to_path_buf());
        }
    }

    fn watch_directory(&mut self, path: &Path) {
        self.parents.insert(path.to_path_buf());
    }
}

fn inode(stat: &Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Whether it is a directory.
pub fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
