//! Writing compiled stores: completely or not at all, one writer at a time, and nothing left behind.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::mount::MsFlags;
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::process::umask;
use support::answers::assert_same;
use support::child::{Child, in_child, mount_tmpfs, own_mounts, remount};
use support::stores::{Bench, COMPILED, STALE, certificate, image, names_in, pem_of, template};
use windlass::compiled::{self, Image, Overwrite, ReadError, WriteError, file_name, write};
use windlass::{RootStore, Source};

/// The images of a source in two states; it is in the second one.
fn two_states(bench: &Bench) -> (Source, [Image; 2], Vec<u8>) {
    let template = template();
    let source = bench.source(&pem_of(&(0..40).map(|n| certificate(&template, "first", n)).collect::<Vec<_>>()));
    let first = image(&source);
    let pem = pem_of(&(0..50).map(|n| certificate(&template, "other", n)).collect::<Vec<_>>());
    fs::write(source.path(), &pem).unwrap();
    let second = image(&source);
    assert_ne!(first.bytes(), second.bytes());
    (source, [first, second], pem)
}

/// Requires one of the two in the file, complete; returns which.
#[track_caller]
fn which(bench: &Bench, images: &[Image; 2]) -> usize {
    let bytes = fs::read(bench.stores.join(file_name(images[0].source()))).unwrap();
    images.iter().position(|image| image.bytes() == bytes).expect("it is whole")
}

#[track_caller]
fn assert_tidy(bench: &Bench, image: &Image) {
    assert_eq!(names_in(&bench.stores), [".lock".to_owned(), file_name(image.source())]);
}

#[test]
fn what_is_unchanged_is_not_written() {
    let bench = Bench::new();
    let (source, images, pem) = two_states(&bench);
    let written = write(&bench.stores, &images[1], Overwrite::Guarded).unwrap();
    assert_eq!(written.path, bench.stores.join(file_name(&source)));
    assert_eq!(written.bytes, images[1].bytes().len() as u64);
    assert!(!written.unchanged);
    let inode = || fs::metadata(&written.path).unwrap().ino();
    let before = inode();
    for how in [Overwrite::Guarded, Overwrite::Forced] {
        let again = write(&bench.stores, &images[1], how).unwrap();
        assert!(again.unchanged);
        assert_eq!((again.path, again.bytes), (written.path.clone(), written.bytes));
        assert_eq!(inode(), before);
    }
    assert!(!write(&bench.stores, &images[0], Overwrite::Guarded).unwrap().unchanged);
    assert_ne!(inode(), before);
    assert_eq!(bench.expect(&source, &pem), STALE);
    assert_tidy(&bench, &images[0]);
}

/// A store that is not believed or is damaged is replaced, whatever it holds.
#[test]
fn what_nobody_uses_is_replaced() {
    let bench = Bench::new();
    let (source, images, pem) = two_states(&bench);
    let path = write(&bench.stores, &images[1], Overwrite::Guarded).unwrap().path;
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    assert!(!write(&bench.stores, &images[1], Overwrite::Guarded).unwrap().unchanged);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    fs::write(&path, b"nonsense").unwrap();
    assert!(!write(&bench.stores, &images[1], Overwrite::Guarded).unwrap().unchanged);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(source.path(), &path).unwrap();
    assert!(!write(&bench.stores, &images[1], Overwrite::Guarded).unwrap().unchanged);
    assert_eq!(fs::read(source.path()).unwrap(), pem);
    assert_eq!(bench.expect(&source, &pem), COMPILED);
    assert_tidy(&bench, &images[1]);
}

#[test]
fn a_source_that_lost_more_than_half() {
    let bench = Bench::new();
    let template = template();
    let certificates: Vec<_> = (0..9).map(|n| certificate(&template, &format!("CA {n}"), 1)).collect();
    for (before, after, refused) in [
        (9, 5, false),
        (9, 4, true),
        (8, 4, false),
        (8, 3, true),
        (2, 1, false),
        (3, 1, true),
        (1, 1, false),
        (1, 9, false),
    ] {
        let source = bench.source(&pem_of(&certificates[..before]));
        let path = write(&bench.stores, &image(&source), Overwrite::Forced).unwrap().path;
        let old = fs::read(&path).unwrap();
        fs::write(source.path(), pem_of(&certificates[9 - after..])).unwrap();
        let image = image(&source);
        match write(&bench.stores, &image, Overwrite::Guarded) {
            Err(WriteError::Shrinks { path: of, before: had, after: has }) => {
                assert!(refused, "{before} {after}");
                assert_eq!((of, had, has), (path.clone(), before, after));
                assert_eq!(fs::read(&path).unwrap(), old);
                assert!(!write(&bench.stores, &image, Overwrite::Forced).unwrap().unchanged);
            }
            Ok(written) => assert!(!refused && !written.unchanged, "{before} {after}"),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(fs::read(&path).unwrap(), image.bytes());
        assert_tidy(&bench, &image);
    }
    // One that lost all is not supported, so it can't be compiled.
    let source = bench.source(b"");
    assert!(compiled::compile(&source, None, None).is_err());
}

#[test]
fn modes_follow_the_source_and_not_the_mask() {
    for mask in [0o000, 0o022, 0o077] {
        for (source_mode, wanted) in [(0o644, 0o644), (0o444, 0o644), (0o666, 0o644), (0o600, 0o600), (0o640, 0o600)] {
            let mut bench = Bench::new();
            bench.stores = bench.path("new/stores");
            let source = bench.source(&support::stores::twins()[0]);
            fs::set_permissions(source.path(), Permissions::from_mode(source_mode)).unwrap();
            let image = image(&source);
            assert_eq!(image.is_public(), wanted == 0o644);
            in_child(|| {
                umask(Mode::from_bits_retain(mask));
                let path = write(&bench.stores, &image, Overwrite::Guarded).unwrap().path;
                let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
                assert_eq!(mode(&path), wanted, "{mask:o} {source_mode:o}");
                assert_eq!(mode(&bench.stores), 0o755, "{mask:o}");
                assert_eq!(mode(&bench.path("new")), 0o755 & !mask, "{mask:o}");
                assert_eq!(mode(&bench.stores.join(".lock")) & 0o077, 0);
                let before = bench.counts();
                bench.load(&source).unwrap();
                assert_eq!(bench.changed_since(&before), COMPILED);
            });
        }
    }
}

#[test]
fn nothing_is_written_where_nobody_would_believe_it() {
    let bench = Bench::new();
    let (_, images, _) = two_states(&bench);
    fs::set_permissions(&bench.stores, Permissions::from_mode(0o777)).unwrap();
    match write(&bench.stores, &images[0], Overwrite::Forced) {
        Err(WriteError::Distrusted(ReadError::Distrusted { path, .. })) => assert_eq!(path, bench.stores),
        other => panic!("{other:?}"),
    }
    assert_eq!(names_in(&bench.stores), [""; 0]);
    let file = bench.path("file");
    fs::write(&file, b"").unwrap();
    assert!(matches!(write(&file, &images[0], Overwrite::Forced), Err(WriteError::Io { action: "create", .. })));
}

/// Wherever a writer is killed, the file is the old one or the new one, and the next writer finds no obstacle.
#[test]
fn killed_at_any_moment() {
    let bench = Bench::new();
    let (source, images, pem) = two_states(&bench);
    let mut rng = fastrand::Rng::with_seed(support::seed());
    write(&bench.stores, &images[0], Overwrite::Forced).unwrap();
    let (mut seen, mut leftovers) = ([0, 0], 0);
    let rounds = 60 * support::factor();
    for _ in 0..rounds {
        let writer = Child::start(|| {
            for n in 1.. {
                write(&bench.stores, &images[n % 2], Overwrite::Forced).unwrap();
            }
        });
        thread::sleep(Duration::from_micros(rng.u64(0..20_000)));
        writer.kill();
        let there = which(&bench, &images);
        seen[there] += 1;
        // A reader is served, or told by the source that it is stale.
        assert_eq!(bench.expect(&source, &pem), [STALE, COMPILED][there]);
        leftovers += usize::from(names_in(&bench.stores).len() > 2);
        // The lock is free, or this would take long; whatever was left is gone.
        let image = &images[rng.usize(0..2)];
        write(&bench.stores, image, Overwrite::Forced).unwrap();
        assert_tidy(&bench, image);
        assert_eq!(fs::read(bench.stores.join(file_name(&source))).unwrap(), image.bytes());
    }
    eprintln!("{rounds} rounds: {seen:?} old and new, {leftovers} with leftovers");
}

/// The possible leftovers of a killed writer, made by hand: the test does not depend on chance.
#[test]
fn leftovers_are_removed() {
    let bench = Bench::new();
    let (source, images, _) = two_states(&bench);
    let half = &images[0].bytes()[..images[0].bytes().len() / 2];
    for unchanged in [false, true] {
        for name in [".new-1", ".new-4194304", &format!(".new-{}", std::process::id())] {
            fs::write(bench.stores.join(name), half).unwrap();
        }
        // Not ours.
        fs::write(bench.path("stores/.README"), b"").unwrap();
        assert_eq!(write(&bench.stores, &images[1], Overwrite::Guarded).unwrap().unchanged, unchanged);
        assert_eq!(names_in(&bench.stores), [".README", ".lock", &file_name(&source)]);
    }
    fs::write(bench.stores.join(".new-1"), half).unwrap();
    let cleared = compiled::clear(&bench.stores).unwrap();
    assert_eq!(cleared.stores, [bench.stores.join(file_name(&source))]);
    assert_eq!(cleared.leftovers, [bench.stores.join(".new-1")]);
    assert_eq!(names_in(&bench.stores), [".README", ".lock"]);
    assert!(compiled::clear(&bench.path("none")).unwrap().stores.is_empty());
    assert!(!bench.path("none").exists());
}

#[test]
fn several_writers_and_readers_at_once() {
    let bench = Bench::new();
    let (source, images, pem) = two_states(&bench);
    let writers: Vec<_> = (0..4)
        .map(|first| {
            Child::start(|| {
                for n in first..first + 20 * support::factor() as usize {
                    while let Err(error) = write(&bench.stores, &images[n % 2], Overwrite::Forced) {
                        // On a slow disk the others may take longer than a writer waits for them.
                        assert!(matches!(error, WriteError::Locked { .. }), "{error}");
                    }
                }
            })
        })
        .collect();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            Child::start(|| {
                let expected = RootStore::from_pem(&pem).unwrap();
                for _ in 0..200 {
                    assert_same(&bench.load(&source).unwrap(), &expected);
                    // There is one, unless none was written yet, and it is whole.
                    let counts = bench.counts();
                    assert_eq!(counts[8..], [0, 0]);
                }
            })
        })
        .collect();
    readers.into_iter().chain(writers).for_each(Child::join);
    assert_tidy(&bench, &images[which(&bench, &images)]);
}

/// A writer waits for another one, and goes on when that is done or dies.
#[test]
fn a_writer_waits_for_the_lock() {
    let bench = Bench::new();
    let (_, images, _) = two_states(&bench);
    write(&bench.stores, &images[0], Overwrite::Forced).unwrap();
    let lock = fs::File::open(bench.stores.join(".lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| write(&bench.stores, &images[1], Overwrite::Forced));
        thread::sleep(Duration::from_millis(100));
        assert_eq!(which(&bench, &images), 0);
        assert!(!writer.is_finished());
        // Not only closed: a child of another test may have the descriptor as well.
        flock(&lock, FlockOperation::Unlock).unwrap();
        assert!(!writer.join().unwrap().unwrap().unchanged);
    });
    assert_eq!(which(&bench, &images), 1);
}

#[test]
fn a_full_file_system() {
    let bench = Bench::new();
    let (source, images, pem) = two_states(&bench);
    // Room for one and a half.
    let pages = images[0].bytes().len() * 3 / 2 / 4096;
    in_child(|| {
        own_mounts();
        mount_tmpfs(&bench.stores, &format!("size={}k,mode=755", pages * 4));
        write(&bench.stores, &images[0], Overwrite::Forced).unwrap();
        let full = |error| match error {
            WriteError::Io { action: "write", error, .. } => {
                assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            }
            other => panic!("{other}"),
        };
        for _ in 0..3 {
            full(write(&bench.stores, &images[1], Overwrite::Forced).unwrap_err());
            assert_eq!(which(&bench, &images), 0);
            assert_tidy(&bench, &images[0]);
            assert_eq!(bench.expect(&source, &pem), STALE);
        }
        // With room again.
        remount(&bench.stores, MsFlags::empty());
        fs::remove_file(bench.stores.join(file_name(&source))).unwrap();
        write(&bench.stores, &images[1], Overwrite::Forced).unwrap();
        assert_eq!(bench.expect(&source, &pem), COMPILED);
    });
    // Room for bytes, but for no file more.
    in_child(|| {
        own_mounts();
        mount_tmpfs(&bench.stores, "nr_inodes=3,mode=755");
        write(&bench.stores, &images[0], Overwrite::Forced).unwrap();
        match write(&bench.stores, &images[1], Overwrite::Forced) {
            Err(WriteError::Io { action: "create", error, .. }) => {
                assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(which(&bench, &images), 0);
    });
    // Not even for the lock.
    in_child(|| {
        own_mounts();
        mount_tmpfs(&bench.stores, "nr_inodes=1,mode=755");
        assert!(matches!(
            write(&bench.stores, &images[0], Overwrite::Forced),
            Err(WriteError::Io { action: "open", .. })
        ));
        assert_eq!(names_in(&bench.stores), [""; 0]);
    });
}

#[test]
fn a_directory_that_can_only_be_read() {
    let bench = Bench::new();
    let (source, images, pem) = two_states(&bench);
    in_child(|| {
        own_mounts();
        mount_tmpfs(&bench.stores, "mode=755");
        write(&bench.stores, &images[1], Overwrite::Forced).unwrap();
        remount(&bench.stores, MsFlags::MS_RDONLY);
        match write(&bench.stores, &images[0], Overwrite::Forced) {
            Err(WriteError::Io { error, .. }) => assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem),
            other => panic!("{other:?}"),
        }
        assert!(compiled::clear(&bench.stores).is_err());
        assert_tidy(&bench, &images[1]);
        assert_eq!(bench.expect(&source, &pem), COMPILED);
    });
}
