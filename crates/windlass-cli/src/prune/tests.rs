//! A prune that stops before each of its changes, as if it had been killed there, and what others do meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use windlass::Timestamp;

use super::apply::Done;
use super::directory::{APART, LEFT};
use super::plan::Plan;
use super::*;
use crate::anchors::name::hex;

mod others;

/// A year of the fixtures.
const NOW: Timestamp = Timestamp(1_800_000_000);
const HASH: &str = "5a3b3f4e";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// A hashed directory in which a row has one of each that goes, and two that stay.
    fn hashed() -> Scene {
        let scene = Scene { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(scene.store()).unwrap();
        let put = |from: &str, to: &str| fs::copy(fixture(from), scene.store().join(to)).unwrap();
        let link = |target: &str, name: &str| symlink(target, scene.store().join(name)).unwrap();
        put("expired.pem", "expired.pem");
        put("twin.pem", "twin.pem");
        link("expired.pem", &format!("{HASH}.0"));
        put("rsa.pem", &format!("{HASH}.1"));
        link("twin.pem", &format!("{HASH}.2"));
        put("rsa.pem", &format!("{HASH}.3"));
        link("gone.pem", &format!("{HASH}.4"));
        link("expired.pem", "alias.pem");
        fs::write(scene.store().join("README"), "stays").unwrap();
        let two = [fixture("rsa.pem"), fixture("expired.pem")].map(|path| fs::read_to_string(path).unwrap());
        fs::write(scene.store().join("bundle.crt"), two.concat()).unwrap();
        fs::set_permissions(scene.store().join("expired.pem"), fs::Permissions::from_mode(0o640)).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
        fs::File::options().write(true).open(scene.store().join("expired.pem")).unwrap().set_modified(old).unwrap();
        scene
    }

    fn store(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("store")
    }

    fn backups(&self) -> PathBuf {
        self.directory.path().join("backups")
    }

    fn plan(&self) -> Plan {
        // Reading the databases of this machine's packages takes most of the time.
        let packages = packages::Packages::default();
        let context = plan::Context {
            now: NOW,
            tests: false,
            packages: &packages,
            sources: [Path::new("/nowhere"); 2],
            spent: dotnet::Spent::default(),
        };
        let mut plan = Plan::default();
        plan.add(&self.store(), Kind::HashedDirectory, &context);
        plan
    }

    fn apply(&self, plan: &Plan) -> Result<Done, crate::failure::Failure> {
        super::apply(plan, &Backups::open_or_make(&self.backups()).unwrap(), NOW)
    }

    /// Undoes the last prune; says what stays in the backup.
    fn undo(&self) -> Result<Vec<String>, crate::failure::Failure> {
        let backups = Backups::open(&self.backups()).unwrap().unwrap();
        match backups.all().unwrap().0.pop() {
            Some(backup) => put_back(backup, &backups),
            None => Ok(Vec::new()),
        }
    }

    /// All there is: type, mode, owner, time and content.
    fn state(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.store()).unwrap().map(|entry| entry.unwrap());
        let text = |path: &Path| {
            let metadata = path.symlink_metadata().unwrap();
            let content = match metadata.is_symlink() {
                true => format!("-> {}", fs::read_link(path).unwrap().display()),
                false if metadata.is_dir() => String::from("directory"),
                false => hex(&Sha256::digest(fs::read(path).unwrap()))[..16].to_owned(),
            };
            let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
            format!("{:o} {} {} {seconds}.{nanoseconds} {content}", metadata.mode(), metadata.uid(), metadata.gid())
        };
        entries.map(|entry| (entry.file_name().into_string().unwrap(), text(&entry.path()))).collect()
    }

    fn row(&self) -> Vec<String> {
        self.state().into_keys().filter(|name| name.starts_with(HASH)).collect()
    }

    /// OpenSSL would come to all of the row.
    fn assert_no_gap(&self, when: &str) {
        let expected: Vec<_> = (0..self.row().len()).map(|number| format!("{HASH}.{number}")).collect();
        assert_eq!(self.row(), expected, "{when}");
    }

    fn assert_no_backups(&self) {
        assert_eq!(fs::read_dir(self.backups()).unwrap().count(), 0);
    }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.stores.iter().flat_map(|store| &store.items).map(|item| item.name.to_str().unwrap()).collect()
}

#[test]
fn a_row_closes_up_and_keeps_its_order() {
    let scene = Scene::hashed();
    let plan = scene.plan();
    let expected = [".4", ".3", ".0"].map(|number| format!("{HASH}{number}"));
    assert_eq!(names(&plan)[..3], expected);
    assert_eq!(names(&plan)[3..], ["alias.pem", "expired.pem"]);
    let reasons: Vec<_> = plan.stores[0].items.iter().map(|item| item.reason.as_str()).collect();
    let repeated = "the same certificate is there under another name";
    let expired = "expired on 2010-01-01";
    assert_eq!(reasons, ["leads nowhere: gone.pem is not there", repeated, expired, expired, expired]);
    let before = scene.state();
    let done = scene.apply(&plan).unwrap();
    assert_eq!((done.moved, done.left), (5, vec![]));
    let after = scene.state();
    assert_eq!(scene.row(), [".0", ".1"].map(|number| format!("{HASH}{number}")));
    assert_eq!(after[&format!("{HASH}.0")], before[&format!("{HASH}.1")]);
    assert_eq!(after[&format!("{HASH}.1")], before[&format!("{HASH}.2")]);
    assert_eq!(after.len(), before.len() - 5);
    assert!(scene.plan().is_empty(), "nothing is left to do");
    let mode = fs::metadata(scene.backups()).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o700, "keys may be in there");
    assert_eq!(scene.undo().unwrap(), Vec::<String>::new());
    assert_eq!(scene.state(), before);
    scene.assert_no_backups();
}

#[test]
fn a_prune_that_is_killed_anywhere_can_be_undone() {
    for apart in [false, true] {
        for changes in 0.. {
            let scene = Scene::hashed();
            let before = scene.state();
            let plan = scene.plan();
            APART.set(apart);
            LEFT.set(Some(changes));
            let applied = scene.apply(&plan);
            let all_done = LEFT.take().is_some_and(|left| left > 0);
            scene.assert_no_gap(&format!("{changes} changes"));
            let undone = scene.undo().unwrap_or_else(|failure| panic!("{apart} {changes}: {failure}"));
            APART.set(false);
            assert_eq!((undone, scene.state()), (vec![], before), "{apart}: after {changes} changes");
            if all_done {
                assert!(applied.unwrap().left.is_empty() && changes > 10, "{changes}");
                break;
            }
        }
    }
}

#[test]
fn an_undo_that_is_killed_anywhere_goes_on() {
    for apart in [false, true] {
        for changes in 0.. {
            let scene = Scene::hashed();
            let before = scene.state();
            APART.set(apart);
            scene.apply(&scene.plan()).unwrap();
            LEFT.set(Some(changes));
            let _ = scene.undo();
            let all_done = LEFT.take().is_some_and(|left| left > 0);
            scene.assert_no_gap(&format!("{changes} changes of the undo"));
            let undone = scene.undo().unwrap_or_else(|failure| panic!("{apart} {changes}: {failure}"));
            APART.set(false);
            assert_eq!((undone, scene.state()), (vec![], before), "{apart}: after {changes} changes");
            if all_done {
                assert!(changes > 8, "{changes}");
                break;
            }
        }
    }
}

#[test]
fn what_was_changed_since_the_plan_stays() {
    let scene = Scene::hashed();
    let plan = scene.plan();
    let store = scene.store();
    // Content; a link that leads elsewhere; something else of that name; gone.
    fs::write(store.join("expired.pem"), fs::read(fixture("rsa.pem")).unwrap()).unwrap();
    for (name, target) in [(format!("{HASH}.4"), "/etc/passwd"), (format!("{HASH}.3"), "/etc/passwd")] {
        fs::remove_file(store.join(&name)).unwrap();
        symlink(target, store.join(name)).unwrap();
    }
    fs::remove_file(store.join("alias.pem")).unwrap();
    fs::create_dir(store.join("alias.pem")).unwrap();
    let done = scene.apply(&plan).unwrap();
    assert_eq!((done.moved, done.left.len()), (1, 4), "{:?}", done.left);
    assert!(done.left.iter().any(|left| left.ends_with("expired.pem: it was changed since it was planned, and stays")));
    assert_eq!(fs::read_link(store.join(format!("{HASH}.3"))).unwrap(), Path::new("/etc/passwd"));
    assert!(store.join("alias.pem").is_dir());
    assert_eq!(scene.undo().unwrap(), Vec::<String>::new());
    scene.assert_no_gap("after the undo");
}

#[test]
fn a_directory_that_is_swapped_gives_nothing() {
    let scene = Scene::hashed();
    let plan = scene.plan();
    let other = Scene::hashed();
    let before = other.state();
    fs::rename(scene.store(), scene.directory.path().join("away")).unwrap();
    symlink(other.store(), scene.store()).unwrap();
    let done = scene.apply(&plan).unwrap();
    assert_eq!((done.moved, done.left.len(), done.backup), (0, 1, None));
    fs::remove_file(scene.store()).unwrap();
    fs::create_dir(scene.store()).unwrap();
    assert!(scene.apply(&plan).unwrap().left[0].contains("another directory is there by now"));
    assert_eq!(other.state(), before);
    scene.assert_no_backups();
}

#[test]
fn an_undo_keeps_what_others_did() {
    let scene = Scene::hashed();
    let before = scene.state();
    scene.apply(&scene.plan()).unwrap();
    let store = scene.store();
    fs::write(store.join("expired.pem"), "somebody's").unwrap();
    fs::copy(fixture("p384.pem"), store.join(format!("{HASH}.2"))).unwrap();
    let left = scene.undo().unwrap();
    assert!(left.len() == 1 && left[0].contains("expired.pem: something else is there by now"), "{left:?}");
    scene.assert_no_gap("with one more");
    let after = scene.state();
    assert_eq!(fs::read_to_string(store.join("expired.pem")).unwrap(), "somebody's");
    for number in [0, 1, 2] {
        let name = format!("{HASH}.{number}");
        assert_eq!(after[&name], before[&name], "{name}");
    }
    assert_eq!(scene.row().len(), 6);
    // The rest comes back when its place is free.
    fs::remove_file(store.join("expired.pem")).unwrap();
    assert_eq!(scene.undo().unwrap(), Vec::<String>::new());
    assert_eq!(scene.state()["expired.pem"], before["expired.pem"]);
    scene.assert_no_backups();
}

#[test]
fn the_last_anchors_and_what_is_no_authority_stay() {
    let scene = Scene { directory: tempfile::tempdir().unwrap() };
    fs::create_dir(scene.store()).unwrap();
    fs::copy(fixture("expired.pem"), scene.store().join("43aeb4b8.0")).unwrap();
    let plan = scene.plan();
    assert!(plan.is_empty() && plan.notes[0].what.ends_with("no other anchor would be left"), "{:?}", plan.notes);
    fs::copy(fixture("rsa.pem"), scene.store().join(format!("{HASH}.0"))).unwrap();
    assert_eq!(names(&scene.plan()), ["43aeb4b8.0"]);
}

#[test]
fn backups_that_others_can_write_are_refused() {
    let scene = Scene::hashed();
    scene.apply(&scene.plan()).unwrap();
    fs::set_permissions(scene.backups(), fs::Permissions::from_mode(0o770)).unwrap();
    let failure = Backups::open(&scene.backups()).unwrap_err();
    assert!(failure.to_string().contains("others can write to it"), "{failure}");
    fs::set_permissions(scene.backups(), fs::Permissions::from_mode(0o700)).unwrap();
    let held = Backups::open(&scene.backups()).unwrap();
    assert!(
        held.is_some()
            && Backups::open(&scene.backups()).unwrap_err().to_string().contains("locked by another windlass")
    );
}

#[test]
fn what_others_keep_is_theirs_to_remove() {
    let scene = Scene { directory: tempfile::tempdir().unwrap() };
    let root = scene.directory.path().canonicalize().unwrap();
    let (store, own, theirs) = (scene.store(), root.join("local"), root.join("distribution"));
    let lists = root.join("var/lib/dpkg/info");
    for directory in [&store, &own, &theirs, &lists] {
        fs::create_dir_all(directory).unwrap();
    }
    fs::copy(fixture("rsa.pem"), store.join(format!("{HASH}.0"))).unwrap();
    // As update-ca-certificates makes it: hash, name, source.
    for (number, source) in [&own, &theirs].into_iter().enumerate() {
        fs::copy(fixture("expired.pem"), source.join("x.crt")).unwrap();
        symlink(source.join("x.crt"), store.join(format!("x{number}.pem"))).unwrap();
        symlink(format!("x{number}.pem"), store.join(format!("0000000{number}.0"))).unwrap();
    }
    // A package's, and one that a server may use itself.
    fs::copy(fixture("expired.pem"), store.join("00000002.0")).unwrap();
    fs::write(lists.join("corp-ca.list"), format!("{}\n", store.join("00000002.0").display())).unwrap();
    let packages = packages::Packages::read(&root, std::slice::from_ref(&store));
    let context = plan::Context {
        now: NOW,
        tests: false,
        packages: &packages,
        sources: [&theirs, &own],
        spent: dotnet::Spent::default(),
    };
    let mut plan = Plan::default();
    plan.add(&store, Kind::HashedDirectory, &context);
    assert!(plan.is_empty(), "{:?}", plan.stores);
    assert_eq!(plan.stores[0].kept, 4);
    let notes: Vec<_> = plan.notes.iter().map(|note| (note.what.as_str(), note.remedy.as_str())).collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(
        notes[0].1 == "remove the file there, and run update-ca-certificates" && notes[0].0.contains("/local"),
        "{notes:?}"
    );
    assert!(notes[1].1.contains("dpkg-reconfigure ca-certificates"), "{notes:?}");
    assert!(notes[2].0.ends_with("it belongs to the package corp-ca"), "{notes:?}");
    let made = Path::new("/var/lib/ca-certificates/pem");
    let found =
        hashed::look(&directory::Directory { path: made.into(), fd: fs::File::open(&store).unwrap().into() }, &context)
            .unwrap();
    assert!(found.items.is_empty() && found.notes[0].what.contains("is made by update-ca-certificates"));
}

/// A directory of another user, who swaps what is in it: root moves nothing but what was planned.
#[test]
fn a_hostile_directory_leads_nowhere_else() {
    let scene = Scene::hashed();
    let plan = scene.plan();
    let store = scene.store();
    let victim = scene.directory.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Now the certificate, now a link to the victim, as fast as it goes.
            let (name, aside, link) = (store.join("expired.pem"), store.join(".aside"), store.join(".link"));
            symlink(&victim, &link).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::rename(&name, &aside).and_then(|()| fs::rename(&link, &name));
                let _ = fs::rename(&name, &link).and_then(|()| fs::rename(&aside, &name));
            }
        });
        let _ = scene.apply(&plan);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    let backups = Backups::open(&scene.backups()).unwrap().unwrap();
    for backup in backups.all().unwrap().0 {
        for entry in &backup.record.entries {
            if let Ok(target) = fs::read_link(backup.directory.path.join(&entry.saved)) {
                assert_ne!(target, victim, "a link that was not planned is in the backup");
            }
        }
    }
}
