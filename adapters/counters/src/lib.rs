//! Counters shared by a process tree: a page that describes itself, so that any number of adapters with their own
//! counters can write into it and `windlass run --stats` can print them all.
//!
//! Layout, in native 64-bit words: magic, version, number of slots, five words unused; then slots of eight words:
//! state, value, and the name in 48 bytes, padded with NUL. A slot is free (0), being named (1) or in use (2).

mod mapped;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

/// The size of the page in bytes.
pub const PAGE_BYTES: u64 = 64 * 1024;
const WORDS: usize = PAGE_BYTES as usize / 8;
/// "windlass" read as a little-endian number.
const MAGIC: u64 = 0x7373_616c_646e_6977;
const VERSION: u64 = 1;
const HEADER_WORDS: usize = 8;
const SLOT_WORDS: usize = 8;
const SLOTS: usize = (WORDS - HEADER_WORDS) / SLOT_WORDS;
const NAME_WORDS: usize = SLOT_WORDS - 2;
/// The longest name of a counter, in bytes.
pub const MAX_NAME: usize = NAME_WORDS * 8;

const FREE: u64 = 0;
const NAMING: u64 = 1;
const USED: u64 = 2;

/// The counters of one adapter in one process.
pub struct Stats {
    /// The counter of each label.
    counters: Box<[&'static AtomicU64]>,
}

impl Stats {
    /// The number of words in a page.
    pub const WORDS: usize = WORDS;

    /// Counters that nobody else sees. They live as long as the process, so create them once.
    pub fn private(labels: &'static [&'static str]) -> &'static Stats {
        let page: &'static [AtomicU64] = Box::leak(labels.iter().map(|_| AtomicU64::new(0)).collect());
        Box::leak(Box::new(Stats { counters: page.iter().collect() }))
    }

    /// Counters in the page that [`StatsOwner::path`] names, or None if the path is not a counters page of this user.
    /// They live as long as the process, so create them once.
    pub fn attach(path: &Path, labels: &'static [&'static str]) -> Option<&'static Stats> {
        Stats::in_page(open(path).ok()?, labels)
    }

    /// Whether a file's status describes a counters page of this user.
    pub fn is_page(stat: &rustix::fs::Stat, user: u32) -> bool {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            && stat.st_uid == user
            && u64::try_from(stat.st_size) == Ok(PAGE_BYTES)
    }

    /// Counters in a page that is already mapped, [`Stats::WORDS`] long; None if it is not a counters page.
    pub fn in_page(page: &'static [AtomicU64], labels: &'static [&'static str]) -> Option<&'static Stats> {
        let header = page.get(..HEADER_WORDS)?;
        if header.iter().take(3).map(|word| word.load(Ordering::Acquire)).ne([MAGIC, VERSION, SLOTS as u64]) {
            return None;
        }
        let counters: Option<Box<[_]>> = labels.iter().map(|label| claim(page, label)).collect();
        Some(Box::leak(Box::new(Stats { counters: counters? })))
    }

    /// Adds to the counter of the label at this index. Wait-free. An index beyond the labels is ignored.
    pub fn add(&self, slot: usize, n: u64) {
        if let Some(counter) = self.counters.get(slot) {
            counter.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// The value of the counter of the label at this index.
    pub fn value(&self, slot: usize) -> u64 {
        self.counters.get(slot).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// The side that creates the page and reads it.
pub struct StatsOwner {
    file: OwnedFd,
    page: &'static [AtomicU64],
}

impl StatsOwner {
    /// Creates a page. Its descriptor is closed in programs that are started; they open it again by its path.
    pub fn create() -> io::Result<StatsOwner> {
        let file = rustix::fs::memfd_create("windlass-stats", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, PAGE_BYTES)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let page = mapped::counters(file.as_fd(), WORDS)?;
        for (word, value) in page.iter().zip([0, VERSION, SLOTS as u64]) {
            word.store(value, Ordering::Relaxed);
        }
        if let Some(magic) = page.first() {
            magic.store(MAGIC, Ordering::Release);
        }
        Ok(StatsOwner { file, page })
    }

    /// The path by which other processes of this user can open the page, as long as this process lives.
    pub fn path(&self) -> String {
        use std::os::fd::AsRawFd;
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The counters that were named so far, in the order of their naming. Counters with the same name are added up.
    pub fn snapshot(&self) -> Vec<(String, u64)> {
        let mut all: Vec<(String, u64)> = Vec::new();
        for slot in slots(self.page) {
            let [state, value, name @ ..] = slot;
            if state.load(Ordering::Acquire) != USED {
                continue;
            }
            let bytes: Vec<u8> = name
                .iter()
                .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
                .take_while(|&byte| byte != 0)
                .collect();
            let (name, value) = (String::from_utf8_lossy(&bytes).into_owned(), value.load(Ordering::Relaxed));
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum = sum.wrapping_add(value),
                None => all.push((name, value)),
            }
        }
        all
    }
}

fn slots(page: &'static [AtomicU64]) -> impl Iterator<Item = &'static [AtomicU64; SLOT_WORDS]> {
    page.get(HEADER_WORDS..).unwrap_or(&[]).as_chunks().0.iter().take(SLOTS)
}

/// Opens a counters page of this user. Checks the file before opening it, because opening a device or a FIFO can have
/// side effects.
fn open(path: &Path) -> Result<&'static [AtomicU64], Errno> {
    let is_page = |stat: &rustix::fs::Stat| Stats::is_page(stat, rustix::process::geteuid().as_raw());
    if !is_page(&rustix::fs::stat(path)?) {
        return Err(Errno::INVAL);
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    if !is_page(&rustix::fs::fstat(&file)?) {
        return Err(Errno::INVAL);
    }
    mapped::counters(file.as_fd(), WORDS)
}

/// The counter of this name: the existing one, or a free one, which is given the name.
fn claim(page: &'static [AtomicU64], label: &str) -> Option<&'static AtomicU64> {
    let name = name_words(label)?;
    for slot in slots(page) {
        let [state, value, words @ ..] = slot;
        if state.compare_exchange(FREE, NAMING, Ordering::Acquire, Ordering::Acquire).is_ok() {
            for (word, &part) in words.iter().zip(&name) {
                word.store(part, Ordering::Relaxed);
            }
            state.store(USED, Ordering::Release);
            return Some(value);
        }
        if wait_until_named(state) && words.iter().map(|word| word.load(Ordering::Relaxed)).eq(name) {
            return Some(value);
        }
    }
    None
}

/// Another process is about to write the name, which takes a few instructions. If it was killed between them, its slot
/// is lost, and the same name may be given twice: [`StatsOwner::snapshot`] adds up.
fn wait_until_named(state: &AtomicU64) -> bool {
    for _ in 0..10_000 {
        if state.load(Ordering::Acquire) == USED {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}

fn name_words(label: &str) -> Option<[u64; NAME_WORDS]> {
    let mut bytes = [0; MAX_NAME];
    bytes.get_mut(..label.len())?.copy_from_slice(label.as_bytes());
    let mut words = [0; NAME_WORDS];
    for (word, part) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*part);
    }
    Some(words)
}
