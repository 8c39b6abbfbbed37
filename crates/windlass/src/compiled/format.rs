//! The layout of a compiled store: `docs/compiled-store.md`. All numbers are little-endian.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_128;

use crate::identity::Identity;
use crate::index::read;
use crate::memory;
use crate::root_store::{Finding, RootStore};
use crate::source::{HashName, Source, SourceRef, State};

/// The version of the layout, of the rules for accepting certificates and of the canonical form of names. Files of any
/// other version are ignored.
pub const VERSION: u32 = 4;

const MAGIC: [u8; 8] = *b"WINDLASS";
/// Fixed fields, then offset and length of each section.
const HEADER: usize = 64 + SECTIONS * 16;
/// Where the checksummed bytes begin; everything before is compared with the expected values.
const CHECKED_FROM: usize = 40;
pub(super) const SECTIONS: usize = 9;
/// Device, inode, size; seconds and nanoseconds of mtime and ctime.
const IDENTITY: usize = 48;
const DIGEST: usize = 32;
/// Stands in place of the number of an adapter's rules, if there are none.
const NO_RULES: u16 = 0;
const FILE_OF_DIRECTORY: usize = 8 + IDENTITY + DIGEST;

/// The sections, in file order, without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Path,
    State,
    Records,
    Subjects,
    RawSubjects,
    IssuersAndSerials,
    KeyIds,
    Canonical,
    Der,
}

/// The number that stands for the kind of a source.
pub(super) fn kind(source: SourceRef<'_>) -> u8 {
    match source {
        SourceRef::Cafile(_) => 1,
        SourceRef::Capath(_) => 2,
    }
}

/// What is wrong with a file that should be a compiled store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The magic number at its beginning is missing.
    #[error("not a compiled store")]
    Magic,
    /// A version other than [`VERSION`].
    #[error("a compiled store of version {0}; this Windlass reads version {VERSION}")]
    Version(u32),
    /// Longer or shorter than its header says.
    #[error("{found} bytes long instead of {expected}")]
    Length {
        /// The length in the header.
        expected: u64,
        /// The actual length.
        found: u64,
    },
    /// The checksum does not match.
    #[error("damaged (wrong checksum)")]
    Checksum,
    /// A section is invalid, although the checksum is right.
    #[error("malformed at offset {offset}")]
    Section {
        /// Where the section begins.
        offset: u64,
    },
}

type Digests = Box<[[u8; 32]]>;

/// The source that a compiled store was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub source: Source,
    pub state: State,
    /// SHA-256 of each file, in the order of the state.
    pub digests: Digests,
    /// Whether equality with `state` proves that nothing has changed. If not, only the content does.
    pub believed: bool,
    /// Size of the PEM source in bytes.
    pub source_bytes: u64,
}

/// Writes the parts of a file in order.
pub(super) struct Encoder {
    out: Vec<u8>,
    sections: usize,
}

impl Encoder {
    pub fn new(origin: &Origin, store: &RootStore, finding: Option<&Finding>) -> Encoder {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(HEADER as u32).to_le_bytes());
        // Length and checksum, filled in at the end.
        out.extend_from_slice(&[0; 24]);
        out.extend_from_slice(&u32::from(kind(origin.source.borrow())).to_le_bytes());
        let (rules, found) = finding.map_or((NO_RULES, 0), |finding| (finding.rules, store.finding(finding)));
        out.extend_from_slice(&[u8::from(origin.believed), found]);
        out.extend_from_slice(&rules.to_le_bytes());
        for number in [store.len(), origin.digests.len()] {
            out.extend_from_slice(&(number as u32).to_le_bytes());
        }
        out.extend_from_slice(&origin.source_bytes.to_le_bytes());
        out.resize(HEADER, 0);
        let mut encoder = Encoder { out, sections: 0 };
        encoder.section(Section::Path, |out| out.extend_from_slice(origin.source.path().as_os_str().as_bytes()));
        encoder.section(Section::State, |out| put_state(origin, out));
        encoder
    }

    /// Appends a section. Sections must come in order.
    pub fn section(&mut self, section: Section, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert_eq!(section as usize, self.sections);
        let start = self.out.len();
        write(&mut self.out);
        let entry = [start as u64, (self.out.len() - start) as u64];
        let place = 64 + self.sections * 16;
        put(&mut self.out, place, entry.map(u64::to_le_bytes).as_flattened());
        self.sections += 1;
    }

    pub fn finish(mut self) -> Vec<u8> {
        debug_assert_eq!(self.sections, SECTIONS);
        let len = self.out.len() as u64;
        put(&mut self.out, 16, &len.to_le_bytes());
        let checksum = xxh3_128(self.out.get(CHECKED_FROM..).unwrap_or(&[]));
        put(&mut self.out, 24, &checksum.to_le_bytes());
        self.out
    }
}

/// The header of a file whose checksum is right.
#[derive(Debug)]
pub(super) struct Layout {
    pub anchors: u32,
    /// The number of the rules, and the value that they gave.
    pub finding: Option<(u16, u8)>,
    kind: u32,
    believed: bool,
    files: u32,
    source_bytes: u64,
    sections: [Range<usize>; SECTIONS],
}

impl Layout {
    /// Checks everything but the content of the sections.
    pub fn check(bytes: &[u8]) -> Result<Layout, Malformed> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Malformed::Magic);
        }
        let damaged = |_| Malformed::Length { expected: HEADER as u64, found: bytes.len() as u64 };
        let version = u32_at(bytes, 8).map_err(damaged)?;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        if u32_at(bytes, 12).map_err(damaged)? != HEADER as u32 {
            return Err(Malformed::Section { offset: 0 });
        }
        let expected = u64_at(bytes, 16).map_err(damaged)?;
        if expected != bytes.len() as u64 || bytes.len() < HEADER {
            return Err(Malformed::Length { expected: expected.max(HEADER as u64), found: bytes.len() as u64 });
        }
        let checksum = bytes.get(24..CHECKED_FROM).unwrap_or(&[]);
        if checksum != xxh3_128(bytes.get(CHECKED_FROM..).unwrap_or(&[])).to_le_bytes() {
            return Err(Malformed::Checksum);
        }
        let header = || -> Result<Layout, OutOfBounds> {
            let mut sections = [const { 0..0 }; SECTIONS];
            let mut end = HEADER;
            for (number, section) in sections.iter_mut().enumerate() {
                let (offset, len) = (u64_at(bytes, 64 + number * 16)?, u64_at(bytes, 72 + number * 16)?);
                let next = usize::try_from(len).ok().and_then(|len| end.checked_add(len)).ok_or(OutOfBounds)?;
                if offset != end as u64 || next > bytes.len() {
                    return Err(OutOfBounds);
                }
                *section = end..next;
                end = next;
            }
            let [believed, found, rules @ ..] = array_at::<4>(bytes, 44)?;
            let believed = match believed {
                0..=1 => believed == 1,
                _ => return Err(OutOfBounds),
            };
            let rules = u16::from_le_bytes(rules);
            if end != bytes.len() {
                return Err(OutOfBounds);
            }
            Ok(Layout {
                kind: u32_at(bytes, 40)?,
                believed,
                finding: (rules != NO_RULES).then_some((rules, found)),
                anchors: u32_at(bytes, 48)?,
                files: u32_at(bytes, 52)?,
                source_bytes: u64_at(bytes, 56)?,
                sections,
            })
        };
        header().map_err(|_| Malformed::Section { offset: 0 })
    }

    pub fn range(&self, section: Section) -> Range<usize> {
        self.sections.get(section as usize).cloned().unwrap_or(0..0)
    }

    pub fn malformed(&self, section: Section) -> Malformed {
        Malformed::Section { offset: self.range(section).start as u64 }
    }

    /// The source that the store was made from.
    pub fn origin(&self, bytes: &[u8]) -> Result<Origin, Malformed> {
        let part = |section| bytes.get(self.range(section)).unwrap_or(&[]);
        let path = memory::os_string(OsStr::from_bytes(part(Section::Path)));
        let path = PathBuf::from(path.map_err(|_| self.malformed(Section::Path))?);
        let source = match self.kind {
            1 => Source::Cafile(path),
            2 => Source::Capath(path),
            _ => return Err(Malformed::Section { offset: 0 }),
        };
        let read = take_state(source.borrow(), self.files, part(Section::State));
        let (state, digests) = read.map_err(|_| self.malformed(Section::State))?;
        Ok(Origin { source, state, digests, believed: self.believed, source_bytes: self.source_bytes })
    }
}

/// A read outside the bytes, or no memory for the result.
#[derive(Debug)]
pub(super) struct OutOfBounds;

pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], OutOfBounds> {
    let part = at.checked_add(N).and_then(|end| bytes.get(at..end)).ok_or(OutOfBounds)?;
    part.try_into().map_err(|_| OutOfBounds)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, OutOfBounds> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Result<u64, OutOfBounds> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn put_state(origin: &Origin, out: &mut Vec<u8>) {
    match &origin.state {
        State::File(identity) => put_identity(identity, out),
        State::Directory(directory, files) => {
            put_identity(directory, out);
            for (name, identity) in files {
                out.extend_from_slice(&name.hash.to_le_bytes());
                out.extend_from_slice(&name.number.to_le_bytes());
                put_identity(identity, out);
            }
        }
    }
    out.extend(origin.digests.iter().flatten());
}

fn take_state(source: SourceRef<'_>, files: u32, bytes: &[u8]) -> Result<(State, Digests), OutOfBounds> {
    let files = files as usize;
    let (state, digests, expected) = match source {
        SourceRef::Cafile(_) => (State::File(take_identity(bytes, 0)?), IDENTITY, 1),
        SourceRef::Capath(_) => {
            let count = bytes.len().checked_sub(IDENTITY).ok_or(OutOfBounds)? / FILE_OF_DIRECTORY;
            // Memory must follow the size of the file, not a number in it.
            if count != files {
                return Err(OutOfBounds);
            }
            let file = |number: usize| -> Result<(HashName, Identity), OutOfBounds> {
                let at = IDENTITY + number * (8 + IDENTITY);
                let name = HashName { hash: u32_at(bytes, at)?, number: u32_at(bytes, at + 4)? };
                Ok((name, take_identity(bytes, at + 8)?))
            };
            let mut all = Vec::new();
            all.try_reserve_exact(count).map_err(|_| OutOfBounds)?;
            for number in 0..count {
                all.push(file(number)?);
            }
            let state = State::Directory(take_identity(bytes, 0)?, all.into_boxed_slice());
            (state, IDENTITY + count * (8 + IDENTITY), count)
        }
    };
    let (digests, rest) = bytes.get(digests..).ok_or(OutOfBounds)?.as_chunks::<DIGEST>();
    if !rest.is_empty() || digests.len() != expected || digests.len() != files {
        return Err(OutOfBounds);
    }
    Ok((state, read(digests, [0; DIGEST], |digest| *digest).ok_or(OutOfBounds)?))
}

const NS: i128 = 1_000_000_000;

fn put_identity(identity: &Identity, out: &mut Vec<u8>) {
    for number in [identity.dev, identity.ino, identity.size] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for time in [identity.mtime_ns, identity.ctime_ns] {
        out.extend_from_slice(&(time.div_euclid(NS) as i64).to_le_bytes());
        out.extend_from_slice(&(time.rem_euclid(NS) as u32).to_le_bytes());
    }
}

fn take_identity(bytes: &[u8], at: usize) -> Result<Identity, OutOfBounds> {
    let time = |at: usize| -> Result<i128, OutOfBounds> {
        let seconds = array_at(bytes, at).map(i64::from_le_bytes)?;
        Ok(i128::from(seconds) * NS + i128::from(u32_at(bytes, at + 8)?))
    };
    Ok(Identity {
        dev: u64_at(bytes, at)?,
        ino: u64_at(bytes, at + 8)?,
        size: u64_at(bytes, at + 16)?,
        mtime_ns: time(at + 24)?,
        ctime_ns: time(at + 36)?,
    })
}
