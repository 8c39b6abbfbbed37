//! The page of counters that a process tree shares.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use windlass_counters::{MAX_NAME, PAGE_BYTES, Stats, StatsOwner};

const FIRST: &[&str] = &["cache/load", "cache/hit"];
const SECOND: &[&str] = &["cache/hit", "served/something", "cache/load"];

fn attach(owner: &StatsOwner, labels: &'static [&'static str]) -> &'static Stats {
    Stats::attach(Path::new(&owner.path()), labels).unwrap()
}

fn named(snapshot: &[(String, u64)]) -> Vec<(&str, u64)> {
    snapshot.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

#[test]
fn counters_of_the_same_name_are_one() {
    let owner = StatsOwner::create().unwrap();
    assert_eq!(owner.snapshot(), []);
    let first = attach(&owner, FIRST);
    let second = attach(&owner, SECOND);
    first.add(0, 1);
    first.add(1, 20);
    second.add(0, 300);
    second.add(1, 4000);
    second.add(2, 50_000);
    // An index beyond the labels.
    second.add(3, 1);
    second.add(usize::MAX, 1);
    let snapshot = owner.snapshot();
    assert_eq!(named(&snapshot), [("cache/load", 50_001), ("cache/hit", 320), ("served/something", 4000)]);
    assert_eq!(first.value(0), 50_001);
    assert_eq!(second.value(0), 320);
}

#[test]
fn private_counters_are_seen_by_nobody() {
    let owner = StatsOwner::create().unwrap();
    let (first, second) = (Stats::private(FIRST), Stats::private(FIRST));
    first.add(1, 7);
    first.add(2, 7);
    assert_eq!((first.value(0), first.value(1), first.value(2)), (0, 7, 0));
    assert_eq!(second.value(1), 0);
    assert_eq!(owner.snapshot(), []);
}

#[test]
fn many_at_once() {
    const LABELS: &[&str] = &["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8"];
    const THREADS: usize = 16;
    let owner = StatsOwner::create().unwrap();
    let (path, start) = (owner.path(), Arc::new(Barrier::new(THREADS)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (path, start) = (path.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let stats = Stats::attach(Path::new(&path), LABELS).unwrap();
                for slot in 0..LABELS.len() {
                    for _ in 0..1000 {
                        stats.add(slot, 1);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut snapshot = owner.snapshot();
    snapshot.sort();
    let expected: Vec<_> = LABELS.iter().map(|&label| (label, 1000 * THREADS as u64)).collect();
    assert_eq!(named(&snapshot), expected);
}

#[test]
fn names_as_long_as_fit() {
    const LONGEST: &[&str] = &["section/0123456789012345678901234567890123456789"];
    const TOO_LONG: &[&str] = &["section/01234567890123456789012345678901234567890"];
    assert_eq!((LONGEST[0].len(), TOO_LONG[0].len()), (MAX_NAME, MAX_NAME + 1));
    let owner = StatsOwner::create().unwrap();
    attach(&owner, LONGEST).add(0, 1);
    assert!(Stats::attach(Path::new(&owner.path()), TOO_LONG).is_none());
    assert_eq!(named(&owner.snapshot()), [(LONGEST[0], 1)]);
}

#[test]
fn more_names_than_there_is_room_for() {
    let labels: Vec<&'static str> = (0..1024).map(|n| &*format!("many/{n}").leak()).collect();
    let labels: &'static [&'static str] = labels.leak();
    let owner = StatsOwner::create().unwrap();
    assert!(Stats::attach(Path::new(&owner.path()), &labels[..1023]).is_some());
    assert!(Stats::attach(Path::new(&owner.path()), labels).is_none());
    assert!(Stats::attach(Path::new(&owner.path()), &labels[500..600]).is_some());
    assert_eq!(owner.snapshot().len(), 1023);
}

/// A started program does not inherit the descriptor, and opens the path.
#[test]
fn the_path_leads_other_processes_to_the_page() {
    let owner = StatsOwner::create().unwrap();
    let path = owner.path();
    let pattern = format!("/proc/{}/fd/", std::process::id());
    assert!(path.starts_with(&pattern), "{path}");
    let number = &path[pattern.len()..];
    let child = |script: String| {
        let mut command = std::process::Command::new("/bin/sh");
        command.env_clear().args(["-c", &script]);
        command.status().unwrap().success()
    };
    assert!(child(format!("test ! -e /proc/$$/fd/{number}")));
    // "windlass" in memory, as this machine is little-endian, or the other way round.
    assert!(child(format!("case $(head -c 8 {path}) in windlass|ssaldniw) exit 0;; esac; exit 1")));
}

/// The page can't be truncated, which would kill every process that counts.
#[test]
fn the_page_is_sealed() {
    let owner = StatsOwner::create().unwrap();
    let file = fs::OpenOptions::new().write(true).open(owner.path()).unwrap();
    assert_eq!(file.metadata().unwrap().len(), PAGE_BYTES);
    assert!(file.set_len(0).is_err());
    assert!(file.set_len(PAGE_BYTES + 1).is_err());
}

#[test]
fn a_page_with_another_header_is_left_alone() {
    for word in 0..3 {
        let owner = StatsOwner::create().unwrap();
        let file = fs::OpenOptions::new().write(true).open(owner.path()).unwrap();
        file.write_all_at(&[0xFF; 8], word * 8).unwrap();
        assert!(Stats::attach(Path::new(&owner.path()), FIRST).is_none(), "{word}");
    }
}

#[test]
fn what_is_no_page_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let owner = StatsOwner::create().unwrap();
    attach(&owner, FIRST);
    let page = fs::read(owner.path()).unwrap();
    // The same bytes and size, but a file that somebody could truncate.
    let copy = dir.path().join("copy");
    fs::File::create(&copy).unwrap().write_all(&page).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    let link = dir.path().join("link");
    symlink("/dev/zero", &link).unwrap();
    let fifo = dir.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [&copy, &link, &fifo, dir.path(), Path::new("/nowhere"), Path::new("")] {
        assert!(Stats::attach(path, FIRST).is_none(), "{}", path.display());
    }
    assert_eq!(fs::read(&copy).unwrap(), page);
}

/// Memory files that look like a page, but could be truncated, or have another size.
#[test]
fn other_memory_files_are_left_alone() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    use std::os::fd::AsRawFd;

    let owner = StatsOwner::create().unwrap();
    let page = fs::read(owner.path()).unwrap();
    let attaches = |seals: SealFlags, size: u64| {
        let file = memfd_create("page", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        fs::write(&path, &page).unwrap();
        ftruncate(&file, size).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        Stats::attach(Path::new(&path), FIRST).is_some()
    };
    let size = PAGE_BYTES;
    assert!(attaches(SealFlags::SHRINK, size));
    assert!(!attaches(SealFlags::GROW, size));
    assert!(!attaches(SealFlags::empty(), size));
    assert!(!attaches(SealFlags::SHRINK, size - 8));
    assert!(!attaches(SealFlags::SHRINK, size + 8));
    // Sealed against writing: it can't be mapped for writing.
    assert!(!attaches(SealFlags::SHRINK | SealFlags::WRITE, size));
}

/// A process was killed while it gave a slot its name: the slot is lost, and nobody waits for it.
#[test]
fn a_slot_that_was_never_named_is_passed_over() {
    let owner = StatsOwner::create().unwrap();
    let file = fs::OpenOptions::new().write(true).open(owner.path()).unwrap();
    file.write_all_at(&1u64.to_ne_bytes(), 64).unwrap();
    let stats = attach(&owner, FIRST);
    stats.add(0, 5);
    attach(&owner, FIRST).add(0, 6);
    assert_eq!(named(&owner.snapshot()), [("cache/load", 11), ("cache/hit", 0)]);
    // The name is written late after all.
    let mut name = [0; MAX_NAME];
    name[..10].copy_from_slice(b"cache/load");
    file.write_all_at(&name, 64 + 16).unwrap();
    file.write_all_at(&100u64.to_ne_bytes(), 64 + 8).unwrap();
    file.write_all_at(&2u64.to_ne_bytes(), 64).unwrap();
    assert_eq!(named(&owner.snapshot()), [("cache/load", 111), ("cache/hit", 0)]);
}

#[test]
fn what_is_shared_between_threads_can_be() {
    fn assert_shareable<T: Send + Sync + 'static>() {}
    assert_shareable::<Stats>();
}
