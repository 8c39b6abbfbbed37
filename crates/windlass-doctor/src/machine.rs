//! The machine or image that is examined. Everything here only reads, and only a limited part of each file: anybody may
//! have written it.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use windlass::Timestamp;
use windlass::compiled::{Last, Root};
use windlass_libcrypto::Libcrypto;
use windlass_machine::places::{self, Place};
use windlass_machine::regular;
use windlass_machine::shell::quoted;
use windlass_machine::without_number;

use super::check::{Outcome, Unseen};
use super::measure::{Measure, is_ours};
use super::sources::Sources;

/// In bytes. No source of trust is larger, unless it was made to be.
pub const MAX_FILE: u64 = 64 << 20;
/// Put before a remedy for an image.
pub(crate) const INSIDE: &str = "inside the image: ";
/// The most names read in one directory.
const MAX_ENTRIES: usize = 50_000;

/// The examined machine, and the tools to examine it.
#[derive(Debug)]
pub struct Machine<'a> {
    /// The root directory of an image, or this machine's own.
    pub root: Root<'a>,
    /// The time at which certificates are judged.
    pub now: Timestamp,
    /// This machine's libcryptos, newest first. They also judge the files of an image.
    pub libcryptos: &'a [Libcrypto],
    /// Whether the libcryptos belong to the examined machine: their default paths are then its programs' paths.
    pub asks_libcryptos: bool,
    /// The environment of this process; empty for an image.
    pub environment: Vec<(OsString, OsString)>,
    /// Home directories to search, as programs of the machine name them: the user's own, and for root those of all
    /// users.
    pub homes: Vec<PathBuf>,
    /// Measures the cost of findings.
    pub measure: Measure<'a>,
    sources: OnceCell<Sources>,
    places: OnceCell<Vec<Place>>,
}

/// One name in a directory.
#[derive(Debug)]
pub struct Entry {
    /// The file name, without the directory.
    pub name: OsString,
    /// The path, as programs of the machine name it.
    pub path: PathBuf,
    /// Whether it is a symbolic link.
    pub is_link: bool,
}

/// A file that was read.
#[derive(Debug)]
pub struct Content {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// The metadata of the file that was read. Its path can lead to another file at any time.
    pub metadata: Metadata,
    /// The open file.
    pub file: File,
}

impl Content {
    /// Whether a foreign parser may read the bytes: see [`is_ours`].
    pub fn is_ours(&self) -> bool {
        is_ours(&self.metadata)
    }

    /// The time of the file's last change, if it is after 1970.
    pub fn changed(&self) -> Option<Timestamp> {
        Some(Timestamp(self.metadata.mtime())).filter(|changed| changed.seconds() >= 0)
    }
}

/// The target of a path.
#[derive(Debug)]
pub enum Target {
    /// A regular file.
    File(Metadata),
    /// A directory.
    Directory,
    /// A device, a FIFO, a socket.
    Other,
    /// Nothing: the path does not exist.
    Nothing,
    /// A link without a target.
    Dangling,
}

impl<'a> Machine<'a> {
    /// This machine, or the image below `root`.
    pub fn new(root: Option<&'a Path>, libcryptos: &'a [Libcrypto], measure: bool) -> Machine<'a> {
        let root = Root(root);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut machine = Machine {
            root,
            now: Timestamp(i64::try_from(now).unwrap_or(i64::MAX)),
            libcryptos,
            asks_libcryptos: root.0.is_none(),
            environment: if root.0.is_none() { std::env::vars_os().collect() } else { Vec::new() },
            homes: Vec::new(),
            measure: Measure::with(libcryptos.first().filter(|_| measure)),
            sources: OnceCell::new(),
            places: OnceCell::new(),
        };
        machine.homes = super::homes::of(&machine);
        machine
    }

    /// Whether this is an image: none of its programs run here.
    pub fn is_image(&self) -> bool {
        self.root.0.is_some()
    }

    /// The command that prunes a path.
    pub fn prune(&self, path: &Path) -> String {
        self.prune_with(&[], path)
    }

    /// The same with options.
    pub fn prune_with(&self, options: &[&str], path: &Path) -> String {
        let root = self.root.0.map(|root| root.display().to_string()).map(|root| vec![String::from("--root"), root]);
        let command = [String::from("windlass"), String::from("prune")].into_iter().chain(root.into_iter().flatten());
        let options = options.iter().map(|option| String::from(*option));
        let words: Vec<_> = command.chain(options).chain([path.display().to_string()]).collect();
        quoted(&words)
    }

    /// The prefix of a remedy for the examined machine: from outside, links of an image lead to this machine's own
    /// files.
    pub fn inside(&self) -> &'static str {
        if self.is_image() { INSIDE } else { "" }
    }

    /// Every place of trust on this machine, private ones included, searched for once.
    pub fn places(&self) -> &[Place] {
        self.places.get_or_init(|| places::known(self.root.0.unwrap_or(Path::new("/")), &self.homes))
    }

    /// The sources of trust that TLS libraries use by default, read once.
    pub fn sources(&self) -> &Sources {
        self.sources.get_or_init(|| Sources::read(self))
    }

    /// The same for a check, which reports what could not be examined of them: it may be the only one that runs.
    pub fn sources_for(&self, outcome: &mut Outcome) -> &Sources {
        self.sources().unseen().for_each(|unseen| outcome.not_seen(unseen.clone()));
        self.sources()
    }

    /// The path by which this process reaches `path`, with all links followed.
    pub fn reach(&self, path: &Path) -> io::Result<PathBuf> {
        self.root.reach(path, Last::Followed)
    }

    /// The target of `path`.
    pub fn look(&self, path: &Path) -> Result<Target, Unseen> {
        let failed = |error: io::Error| unseen(path, &error);
        let reached = match self.reach(path) {
            // In an image, a link to itself already fails here.
            Err(error) if is_nowhere(&error) => return Ok(Target::Dangling),
            reached => reached.map_err(failed)?,
        };
        match reached.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(Target::File(metadata)),
            Ok(metadata) if metadata.is_dir() => Ok(Target::Directory),
            Ok(_) => Ok(Target::Other),
            Err(error) if is_nowhere(&error) => {
                let itself = self.root.reach(path, Last::Itself).map_err(failed)?;
                Ok(if itself.symlink_metadata().is_ok() { Target::Dangling } else { Target::Nothing })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The path with all links followed, as programs of the machine name it. Two names of one file give the same path.
    pub fn real(&self, path: &Path) -> PathBuf {
        let reached = self.reach(path).and_then(std::fs::canonicalize);
        let Ok(reached) = reached else { return path.to_owned() };
        let Some(root) = self.root.0 else { return reached };
        let below = std::fs::canonicalize(root).ok().and_then(|root| Some(reached.strip_prefix(root).ok()?.to_owned()));
        below.map_or_else(|| path.to_owned(), |below| Path::new("/").join(below))
    }

    /// The first component of `path` (the last one included) that shuts out users who are neither its owner nor in its
    /// group, with its mode: a directory that can't be searched, or a file that can't be read.
    pub fn shuts_out(&self, path: &Path) -> Option<(PathBuf, u32)> {
        let real = self.real(path);
        let mut way: Vec<_> = real.ancestors().collect();
        // The root directory of an image belongs to the user who unpacked it.
        way.pop();
        way.into_iter().rev().find_map(|step| {
            let metadata = self.reach(step).and_then(std::fs::metadata).ok()?;
            let needed = if metadata.is_dir() { 0o001 } else { 0o004 };
            (metadata.mode() & needed == 0).then(|| (step.to_owned(), metadata.mode() & 0o777))
        })
    }

    /// Opens a regular file. Nothing else is opened.
    pub fn open(&self, path: &Path) -> Result<File, Unseen> {
        self.reach(path).and_then(|reached| regular::open(&reached)).map_err(|error| unseen(path, &error))
    }

    /// A regular file of at most `limit` bytes. Nothing else is opened.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Content, Unseen> {
        let failed = |error: io::Error| unseen(path, &error);
        let file = self.open(path)?;
        let metadata = file.metadata().map_err(failed)?;
        let mut bytes = Vec::new();
        if metadata.len() <= limit {
            // The file may grow meanwhile.
            (&file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
        }
        if metadata.len().max(bytes.len() as u64) > limit {
            let limit = if limit < 1 << 20 { format!("{} KiB", limit >> 10) } else { format!("{} MiB", limit >> 20) };
            return Err(Unseen::new(path, format!("larger than {limit}")));
        }
        Ok(Content { bytes, metadata, file })
    }

    /// The names in a directory, sorted, and an entry for the rest if there are more than the limit.
    pub fn entries(&self, directory: &Path) -> Result<(Vec<Entry>, Option<Unseen>), Unseen> {
        let failed = |error: io::Error| unseen(directory, &error);
        let reached = self.reach(directory).map_err(failed)?;
        let mut entries = Vec::new();
        for entry in reached.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entries.len() == MAX_ENTRIES {
                let more = Unseen::new(
                    directory,
                    format!("it has more than {MAX_ENTRIES} entries: only the first {MAX_ENTRIES} were examined"),
                );
                return Ok((sorted(entries), Some(more)));
            }
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let name = entry.file_name();
            entries.push(Entry { path: directory.join(&name), name, is_link });
        }
        Ok((sorted(entries), None))
    }
}

fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    entries
}

fn is_nowhere(error: &io::Error) -> bool {
    // ELOOP: a link to itself has no target either.
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn unseen(path: &Path, error: &io::Error) -> Unseen {
    let needs_root = error.kind() == ErrorKind::PermissionDenied && !rustix::process::geteuid().is_root();
    Unseen { needs_root, ..Unseen::new(path, without_number(error)) }
}
