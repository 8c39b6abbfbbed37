//! The watched files and directories: those that hold trust, in every root directory of a process.
//!
//! Users make many of them, and may want to blind the watch: a descriptor is only held while its file is marked, each
//! user has a limit, and everything beyond a limit is reported.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Stat};

use super::entries::{Entries, Inode};
use super::marks::Marks;
use super::numbered::Numbered;
use super::parents::Parents;
use super::roots::{Asked, Found, Namespace, Others, RootDirectory, RootId, is_shortage};
use super::source::{LeftOut, Source, SourceKind};
use super::wanted::{Owner, Wanted, WantedPlaces};

/// The most files watched in one directory; in homes and in other root directories, in all directories of one home or
/// root.
const ENTRIES: usize = 100_000;
/// How long the list of places stays valid: a package installed later adds places. Searching them goes through homes.
const PLACES_AGE: Duration = Duration::from_secs(60);
/// The same for other root directories: there may be hundreds of containers.
const PLACES_AGE_ELSEWHERE: Duration = Duration::from_secs(600);
/// How often directories are read again that look unchanged: their links may have new targets.
const ENTRIES_AGE: Duration = Duration::from_secs(10);
/// How long a file without a name is remembered: events about it may be waiting.
const KEPT: Duration = Duration::from_secs(30);

/// All sources, and the mapping from opened files to them.
#[derive(Debug, Default)]
pub struct Sources {
    /// All sources; the numbers of [`Self::of`] are positions in it.
    pub list: Numbered,
    /// A replaced file stays for a while: events about it may be waiting.
    files: HashMap<Inode, Seen>,
    directories: HashMap<Inode, Directory>,
    entries: Entries,
    places: HashMap<RootId, (Instant, Arc<WantedPlaces>)>,
    /// The last round in which the list of another root directory was made again.
    renewed: u64,
    named: Vec<PathBuf>,
    asked: Asked,
    /// The directories in which a change may give a watched name another file.
    pub parents: Parents,
    /// Numbers of sources that are not watched.
    pub left_out: LeftOut,
    round: u64,
}

#[derive(Debug)]
struct Seen {
    source: usize,
    round: u64,
    at: Instant,
}

#[derive(Debug)]
struct Directory {
    seen: Seen,
    /// The time of the last pass, and the directory's timestamps then.
    state: Option<(Instant, DirectoryTimes)>,
    is_cut: bool,
}

type DirectoryTimes = (i64, i64, i64, i64);

/// A root directory during a refresh, and the entries that each owner may still add.
struct Look<'a> {
    root: &'a RootDirectory,
    /// The mount namespace; `None` for this process's own.
    namespace: Option<Namespace>,
    marks: &'a Marks,
    budgets: HashMap<Owner, usize>,
}

impl Sources {
    /// With the paths named on the command line, besides the known places.
    pub fn new(named: Vec<PathBuf>) -> Sources {
        Sources { named, ..Sources::default() }
    }

    /// The source that an opened file or directory belongs to. A file that is itself a source and also lies in a
    /// directory source counts as itself.
    pub fn of(&self, stat: &Stat) -> Option<usize> {
        let inode = inode(stat);
        if is_directory(stat) {
            return self.directories.get(&inode).map(|directory| directory.seen.source);
        }
        self.files.get(&inode).map(|seen| seen.source).or_else(|| self.entries.source(inode))
    }

    /// Finds the current sources, and marks them. A file that can't be marked (its file system does not report) is left
    /// out.
    pub fn refresh(&mut self, marks: &Marks) {
        let Ok(own) = RootDirectory::own() else {
            self.left_out.roots += 1;
            return;
        };
        self.round += 1;
        let Others { roots, left_out } =
            RootDirectory::others(&mut self.asked, own.id, |id| self.places.contains_key(id));
        self.places.retain(|id, _| *id == own.id || roots.iter().any(|(other, _)| other == id));
        self.left_out = LeftOut { roots: left_out, ..LeftOut::default() };
        self.look(Look { root: &own, namespace: None, marks, budgets: HashMap::new() });
        for (id, pid) in roots {
            match RootDirectory::of(id, pid) {
                Ok(root) => {
                    let namespace = Some(id.namespace());
                    self.look(Look { root: &root, namespace, marks, budgets: HashMap::new() });
                }
                Err(errno) => self.left_out.roots += usize::from(is_shortage(errno.raw_os_error())),
            }
        }
        self.forget();
        let is_cut = |directory: &&Directory| directory.is_cut && directory.seen.round == self.round;
        self.left_out.directories = self.directories.values().filter(is_cut).count();
    }

    fn look(&mut self, mut look: Look<'_>) {
        let wanted = self.wanted(look.root, look.namespace.is_none());
        self.left_out.places += wanted.left_out;
        // Files first, to recognise a bundle in a hashed directory as a bundle.
        let mut directories = Vec::new();
        for wanted in &wanted.list {
            match look.root.find(&wanted.path) {
                Ok(found) if is_file(&found.stat) => self.add_file(&look, &found, wanted),
                Ok(found) if is_directory(&found.stat) => directories.push(wanted),
                Ok(_) => {}
                Err(errno) => self.left_out.places += usize::from(is_shortage(errno.raw_os_error())),
            }
        }
        for wanted in directories {
            if let Some(found) = look.root.find(&wanted.path).ok().filter(|found| is_directory(&found.stat)) {
                self.add_directory(&mut look, &found, wanted);
            }
        }
    }

    /// Of the other root directories, one has its list made again in a round: a search takes tens of milliseconds, and
    /// events wait meanwhile.
    fn wanted(&mut self, root: &RootDirectory, is_own: bool) -> Arc<WantedPlaces> {
        let age = if is_own { PLACES_AGE } else { PLACES_AGE_ELSEWHERE };
        if let Some((made, places)) = self.places.get(&root.id) {
            if made.elapsed() < age || (!is_own && self.renewed == self.round) {
                return Arc::clone(places);
            }
            self.renewed = if is_own { self.renewed } else { self.round };
        }
        let wanted = Arc::new(WantedPlaces::find(root, is_own, &self.named));
        self.places.insert(root.id, (Instant::now(), Arc::clone(&wanted)));
        wanted
    }

    fn add_file(&mut self, look: &Look<'_>, found: &Found, wanted: &Wanted) {
        if look.namespace.is_none() {
            self.parents.of_name(&wanted.path);
        }
        if let Err(errno) = look.marks.file(&found.path()) {
            self.left_out.places += usize::from(is_shortage(errno as i32));
            return;
        }
        let inode = inode(&found.stat);
        // In many namespaces it is the same file, which is known already.
        let known = self.files.get(&inode).map(|seen| seen.source);
        match known.or_else(|| self.source(look, SourceKind::File, found, wanted)) {
            Some(source) => {
                self.files.insert(inode, Seen { source, round: self.round, at: Instant::now() });
            }
            None => self.left_out.places += 1,
        }
    }

    fn add_directory(&mut self, look: &mut Look<'_>, found: &Found, wanted: &Wanted) {
        let inode = inode(&found.stat);
        if look.namespace.is_none() {
            self.parents.of_name(&wanted.path);
            self.parents.directory(&wanted.path);
        }
        if let Err(errno) = look.marks.directory(&found.path()) {
            self.left_out.places += usize::from(is_shortage(errno as i32));
            return;
        }
        let before = self.directories.remove(&inode);
        let known = before.as_ref().map(|directory| directory.seen.source);
        let Some(source) = known.or_else(|| self.source(look, SourceKind::Directory, found, wanted)) else {
            self.left_out.places += 1;
            return;
        };
        let seen = Seen { source, round: self.round, at: Instant::now() };
        let (state, is_cut) = before.map(|directory| (directory.state, directory.is_cut)).unwrap_or_default();
        let now = std::fs::metadata(found.path()).ok();
        let times = now.map(|now| (now.mtime(), now.mtime_nsec(), now.ctime(), now.ctime_nsec()));
        let is_fresh = |(gone_through, then): &(Instant, DirectoryTimes)| {
            gone_through.elapsed() < ENTRIES_AGE && Some(*then) == times
        };
        if state.as_ref().is_some_and(is_fresh) {
            self.directories.insert(inode, Directory { seen, state, is_cut });
            return;
        }
        let state = times.map(|times| (Instant::now(), times));
        let (files, is_cut) = self.add_entries(look, inode, found, wanted, source);
        self.directories.insert(inode, Directory { seen, state, is_cut });
        self.list.set_files(source, files);
    }

    /// The directory's own mark reports files in the directory; each target of a link needs a mark of its own. Returns
    /// their number, and whether there are more.
    fn add_entries(
        &mut self,
        look: &mut Look<'_>,
        own: Inode,
        directory: &Found,
        wanted: &Wanted,
        source: usize,
    ) -> (usize, bool) {
        let mut files = HashSet::new();
        let Ok(mut entries) = std::fs::read_dir(directory.path()) else { return (0, true) };
        let mut left = look.budgets.get(&wanted.owner).copied().unwrap_or(ENTRIES);
        let mut is_cut = false;
        self.entries.begin(own, source);
        for entry in entries.by_ref().flatten() {
            let Some(rest) = left.checked_sub(1) else {
                is_cut = true;
                break;
            };
            left = rest;
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let path = wanted.path.join(entry.file_name());
            let found = match look.root.find(&path) {
                Ok(found) if is_file(&found.stat) => found,
                Ok(_) => continue,
                Err(errno) => {
                    is_cut |= is_shortage(errno.raw_os_error());
                    continue;
                }
            };
            if let Some(errno) = is_link.then(|| look.marks.file(&found.path()).err()).flatten() {
                is_cut |= is_shortage(errno as i32);
                continue;
            }
            if is_link && look.namespace.is_none() {
                let real = std::fs::read_link(found.path()).unwrap_or_default();
                self.parents.of_target(&real);
            }
            let inode = inode(&found.stat);
            self.entries.add(own, inode);
            if inode != own {
                files.insert(inode);
            }
        }
        if wanted.owner.is_some() {
            look.budgets.insert(wanted.owner, left);
        }
        (files.len(), is_cut)
    }

    /// The number of a source. `None`: its owner has too many.
    fn source(&mut self, look: &Look<'_>, kind: SourceKind, found: &Found, wanted: &Wanted) -> Option<usize> {
        let namespace = look.namespace;
        // The kernel's name for it is only useful in this process's root directory; there it is more recent.
        let real = if namespace.is_none() { std::fs::read_link(found.path()).ok() } else { None };
        let path = real.unwrap_or_else(|| wanted.real.clone());
        let source = Source { path, kind, why: wanted.why.clone(), mount_namespace: namespace, files: 0 };
        self.list.number(source, wanted.owner)
    }

    /// Drops files that were missing at the last two refreshes, and for long enough.
    fn forget(&mut self) {
        let round = self.round;
        let stays = |seen: &Seen| round - seen.round < 2 || seen.at.elapsed() < KEPT;
        self.files.retain(|_, seen| stays(seen));
        self.directories.retain(|_, directory| stays(&directory.seen));
        self.entries.forget(|directory| self.directories.contains_key(&directory), KEPT);
    }
}

fn inode(stat: &Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Whether the file is a directory.
pub fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
