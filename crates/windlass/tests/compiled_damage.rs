//! Damaged and crafted compiled stores. Whatever the file holds, the root store equals the one of the PEM file; nothing
//! panics, and memory follows the size of the file.

#[path = "support/memory.rs"]
mod memory;
mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use memory::peak_of;
use support::answers::{ask_everything, assert_same};
use support::child::in_child;
use support::stores::{Bench, COMPILED, MALFORMED, certificate, pem_of, template};
use windlass::compiled::{self, Malformed, ReadError, VERSION};
use windlass::{CacheEvent, Config, MaxAge, RootStore, Source, TrustCache};
use xxhash_rust::xxh3::xxh3_128;

const TABLE: usize = 64;
const SECTIONS: usize = 9;
const HEADER: usize = TABLE + SECTIONS * 16;
const CHECKED_FROM: usize = 40;
/// The section of the source's path, and that of the records.
const PATH: usize = 0;
const RECORDS: usize = 2;
/// Bytes of a record, and the first and the last of its spans that lie within the certificate.
const RECORD: usize = 72;
const SUBJECT: usize = 2;
const SUBJECT_KEY_ID: usize = 6;

/// A small store, so that every byte of it can be tried.
struct Small {
    bench: Bench,
    source: Source,
    pem: Vec<u8>,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Small {
    fn new() -> Small {
        let bench = Bench::new();
        let template = template();
        let [a, b] = [1, 2].map(|serial| certificate(&template, "Shared", serial));
        let pem = pem_of([&a, &b, &a]);
        let source = bench.source(&pem);
        let path = bench.compile(&source);
        assert_eq!(bench.expect(&source, &pem), COMPILED);
        let bytes = fs::read(&path).unwrap();
        Small { bench, source, pem, path, bytes }
    }

    /// Loads with these bytes as the compiled store, and requires them to be found malformed, once, and ignored.
    #[track_caller]
    fn expect_ignored(&self, bytes: &[u8], what: &str) {
        fs::write(&self.path, bytes).unwrap();
        assert_eq!(self.bench.expect(&self.source, &self.pem), MALFORMED, "{what}");
        match compiled::inspect(&self.path) {
            Err(ReadError::Malformed { path, .. }) => assert_eq!(path, self.path),
            other => panic!("{what}: {other:?}"),
        }
    }

    /// Loads with these bytes as the compiled store, after correcting the checksum. Such a file was made by hand, by
    /// root or the user: it can hold any certificates. Returns whether it was believed.
    fn survives(&self, mut bytes: Vec<u8>, what: &str) -> bool {
        seal(&mut bytes);
        fs::write(&self.path, &bytes).unwrap();
        let limit = 16 * bytes.len() + self.pem.len() * 4 + (2 << 20);
        let (used, peak) = peak_of(|| {
            let before = self.bench.counts();
            let store = self.bench.load(&self.source).unwrap();
            ask_everything(&store);
            let _ = compiled::inspect(&self.path).map(|description| description.freshness(None));
            self.bench.changed_since(&before) == COMPILED
        });
        assert!(peak < limit, "{what}: {peak} bytes");
        used
    }
}

/// Corrects length and checksum.
fn seal(bytes: &mut [u8]) {
    let len = bytes.len() as u64;
    bytes[16..24].copy_from_slice(&len.to_le_bytes());
    let checksum = xxh3_128(&bytes[CHECKED_FROM..]);
    bytes[24..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn set(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn truncated_anywhere() {
    let small = Small::new();
    for len in 0..small.bytes.len() {
        small.expect_ignored(&small.bytes[..len], &format!("{len} bytes"));
    }
}

#[test]
fn longer_than_it_says() {
    let small = Small::new();
    for more in [1, 2, 15, 16, 4096] {
        small.expect_ignored(&[small.bytes.as_slice(), &vec![0; more]].concat(), &format!("{more} bytes more"));
    }
    small.expect_ignored(&small.bytes.repeat(2), "twice");
}

#[test]
fn every_bit_of_the_header_and_one_of_every_byte_behind_it() {
    let small = Small::new();
    let mut rng = fastrand::Rng::with_seed(support::seed());
    for at in 0..small.bytes.len() {
        let all = at < HEADER || support::factor() > 1;
        for bit in if all { 0..8 } else { rng.u8(0..8)..8 } {
            let mut bytes = small.bytes.clone();
            bytes[at] ^= 1 << bit;
            small.expect_ignored(&bytes, &format!("bit {bit} of byte {at}"));
            if !all {
                break;
            }
        }
    }
}

#[test]
fn parts_that_are_lost_or_exchanged() {
    let small = Small::new();
    let mut rng = fastrand::Rng::with_seed(support::seed());
    for round in 0..300 * support::factor() {
        let mut bytes = small.bytes.clone();
        let (start, other) = (rng.usize(0..bytes.len()), rng.usize(0..bytes.len()));
        let len = rng.usize(1..=512).min(bytes.len() - start.max(other));
        match rng.u8(0..3) {
            // A block that was never written.
            0 => bytes[start..start + len].fill(0),
            // One that was written elsewhere.
            1 => bytes.copy_within(start..start + len, other),
            _ => bytes[start..start + len].iter_mut().for_each(|byte| *byte = rng.u8(..)),
        }
        if bytes != small.bytes {
            small.expect_ignored(&bytes, &format!("round {round}"));
        }
    }
}

#[test]
fn every_bit_with_the_right_checksum() {
    let small = Small::new();
    let mut believed = 0;
    for at in CHECKED_FROM..small.bytes.len() {
        for bit in if at < HEADER || support::factor() > 1 { 0..8 } else { (at % 8) as u8..(at % 8) as u8 + 1 } {
            let mut bytes = small.bytes.clone();
            bytes[at] ^= 1 << bit;
            believed += usize::from(small.survives(bytes, &format!("bit {bit} of byte {at}")));
        }
    }
    // Otherwise nothing would have passed the checksum.
    assert!(believed > 1000, "{believed}");
}

#[test]
fn every_number_with_the_right_checksum() {
    let small = Small::new();
    let len = small.bytes.len() as u32;
    for at in (CHECKED_FROM..small.bytes.len() - 4).step_by(4) {
        for value in [0, 1, len, u32::MAX - len + 1, u32::MAX] {
            let mut bytes = small.bytes.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            small.survives(bytes, &format!("{value} at {at}"));
        }
    }
}

/// Spans outside their certificate are not only not read: the file is refused.
#[test]
fn spans_that_lead_out_of_their_certificate() {
    let small = Small::new();
    let records = number(&small.bytes, TABLE + 16 * RECORDS) as usize;
    for record in 0..3 {
        let span = |number: usize| records + record * RECORD + number * 8;
        let der_len = number(&small.bytes, span(0)) >> 32;
        for part in SUBJECT..=SUBJECT_KEY_ID {
            for (start, len) in
                [(0, der_len + 1), (der_len, 1), (1, der_len), (u64::from(u32::MAX), 1), (1, u64::from(u32::MAX))]
            {
                let mut bytes = small.bytes.clone();
                set(&mut bytes, span(part), len << 32 | start);
                assert!(!small.survives(bytes, "a span"), "part {part} of {record}: {start} {len}");
            }
        }
        // The certificates and the names have to lie one after the other.
        for (part, start, len) in [(0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1)] {
            let mut bytes = small.bytes.clone();
            let moved = number(&bytes, span(part)) + (len << 32 | start);
            set(&mut bytes, span(part), moved);
            assert!(!small.survives(bytes, "a span"), "part {part} of {record}");
        }
    }
}

#[test]
fn sections_of_other_lengths_with_the_right_checksum() {
    let small = Small::new();
    let entry = |section: usize| TABLE + section * 16;
    for section in 0..SECTIONS {
        let (offset, len) = (number(&small.bytes, entry(section)), number(&small.bytes, entry(section) + 8));
        for new in (0..len.min(80)).chain([len - 1, len + 1, len + 2, len + 4, len + 8, len + 12, len + 32, len * 2]) {
            // All behind it moves along, the content as well.
            let mut bytes = small.bytes.clone();
            let end = (offset + len) as usize;
            if new < len {
                bytes.drain((offset + new) as usize..end);
            } else {
                let more =
                    bytes[offset as usize..end].iter().copied().cycle().take((new - len) as usize).collect::<Vec<_>>();
                bytes.splice(end..end, more);
            }
            set(&mut bytes, entry(section) + 8, new);
            for behind in section + 1..SECTIONS {
                let moved = number(&bytes, entry(behind)).wrapping_add(new).wrapping_sub(len);
                set(&mut bytes, entry(behind), moved);
            }
            let used = small.survives(bytes, &format!("section {section} of {new} bytes in place of {len}"));
            assert!(!used || section != PATH || new == len);
            // Or only the border to the next one.
            if section + 1 < SECTIONS && new != len {
                let mut bytes = small.bytes.clone();
                let next = number(&bytes, entry(section + 1) + 8);
                set(&mut bytes, entry(section) + 8, new);
                set(&mut bytes, entry(section + 1), offset + new);
                set(&mut bytes, entry(section + 1) + 8, next.wrapping_add(len).wrapping_sub(new));
                small.survives(bytes, &format!("section {section} with a border at {new} in place of {len}"));
            }
        }
        for (at, value) in [(0, 0), (0, u64::MAX), (0, offset + 1), (8, u64::MAX), (8, u64::MAX - offset), (8, 1 << 63)]
        {
            let mut bytes = small.bytes.clone();
            set(&mut bytes, entry(section) + at, value);
            assert!(!small.survives(bytes, &format!("section {section}: {value} at {at}")));
        }
    }
}

#[test]
fn other_versions() {
    let small = Small::new();
    for version in [0, VERSION - 1, VERSION + 1, 1 << 8, u32::MAX] {
        let mut bytes = small.bytes.clone();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        small.expect_ignored(&bytes, &format!("version {version}"));
        // The length of the header that version 3 had.
        bytes[12..16].copy_from_slice(&256_u32.to_le_bytes());
        // Whatever follows: the position of that version's checksum is unknown.
        seal(&mut bytes);
        small.expect_ignored(&bytes, &format!("version {version}"));
        small.expect_ignored(&bytes[..12], &format!("version {version}, cut short"));
        match compiled::inspect(&small.path).unwrap_err() {
            ReadError::Malformed { what: Malformed::Version(found), .. } => assert_eq!(found, version),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn another_sources_compiled_store() {
    let small = Small::new();
    let other = support::stores::twins()[0].clone();
    let path = small.bench.path("other.pem");
    fs::write(&path, other).unwrap();
    let others = small.bench.compile(&Source::Cafile(path));
    assert_ne!(others, small.path);
    fs::rename(others, &small.path).unwrap();
    assert_eq!(small.bench.expect(&small.source, &small.pem), MALFORMED);
    // A directory's under the name of a file's.
    let directory = small.bench.path("certs");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("00000001.0"), &small.pem).unwrap();
    let directorys = small.bench.compile(&Source::Capath(directory));
    fs::rename(directorys, &small.path).unwrap();
    assert_eq!(small.bench.expect(&small.source, &small.pem), MALFORMED);
}

#[test]
fn a_file_with_a_hole() {
    let small = Small::new();
    // More than any compiled store: not read at all.
    let file = fs::File::options().write(true).open(&small.path).unwrap();
    file.set_len((2 << 30) + 1).unwrap();
    let (changed, peak) = peak_of(|| small.bench.expect(&small.source, &small.pem));
    assert_eq!(changed, support::stores::DISTRUSTED);
    assert!(peak < 4 << 20, "{peak}");
    // Less than that, but the length is wrong.
    file.set_len(64 << 20).unwrap();
    assert_eq!(small.bench.expect(&small.source, &small.pem), MALFORMED);
    // Nothing in it.
    file.set_len(0).unwrap();
    file.set_len(64 << 20).unwrap();
    assert_eq!(small.bench.expect(&small.source, &small.pem), MALFORMED);
}

/// A damaged compiled store does not end the search, but it is counted.
#[test]
fn a_damaged_one_before_a_good_one() {
    let small = Small::new();
    let other = small.bench.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(small.path.file_name().unwrap()), &small.bytes[1..]).unwrap();
    for (directories, found) in [
        ([&other, &small.bench.stores], &[CacheEvent::Compiled, CacheEvent::CompiledMalformed][..]),
        ([&small.bench.stores, &other], COMPILED),
        ([&other, &small.bench.path("none")], MALFORMED),
        ([&small.bench.path("none"), &small.bench.stores], COMPILED),
    ] {
        let stores = directories.into_iter().cloned().collect();
        let before = small.bench.counts();
        let cache =
            TrustCache::new(Config { max_age: MaxAge::Forever, stores, ..Config::default() }, Some(small.bench.counts));
        assert_same(&cache.load(&small.source).unwrap(), &RootStore::from_pem(&small.pem).unwrap());
        assert_eq!(small.bench.changed_since(&before), found);
    }
}

/// The open files of this process.
fn descriptors() -> Vec<String> {
    support::stores::names_in(Path::new("/proc/self/fd"))
}

#[test]
fn nothing_stays_open() {
    let small = Small::new();
    let states: [&dyn Fn(); 5] = [
        &|| {},
        &|| drop(fs::write(&small.path, &small.bytes[1..])),
        &|| drop(fs::write(&small.path, b"")),
        &|| drop(fs::set_permissions(&small.path, Permissions::from_mode(0o666))),
        &|| drop(fs::remove_file(&small.path)),
    ];
    // In a process with one thread.
    in_child(|| {
        for change in states {
            change();
            let before = descriptors();
            let store = small.bench.load(&small.source).unwrap();
            assert_eq!(descriptors(), before);
            drop(store);
            let _ = compiled::inspect(&small.path);
            assert_eq!(descriptors(), before);
        }
        let before = descriptors();
        let image = support::stores::image(&small.source);
        compiled::write(&small.bench.stores, &image, compiled::Overwrite::Forced).unwrap();
        compiled::clear(&small.bench.stores).unwrap();
        assert_eq!(descriptors(), before);
    });
}
