//! Hashed directories with one of each removable item, pruned and restored.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use windlass::Timestamp;
use windlass_machine::anchors::name::hex;

use super::apply::Done;
use super::plan::Plan;
use super::*;
use windlass_journal::{APART, LEFT};

mod images;
mod killed;
mod meanwhile;
mod others;
mod rule;

/// A year of the fixtures.
const NOW: Timestamp = Timestamp(1_800_000_000);
const HASH: &str = "5a3b3f4e";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

struct Scene {
    directory: tempfile::TempDir,
}

/// Also those with trust settings, which are never judged, and those without a hash name.
#[test]
fn all_certificates_that_stay_are_counted() {
    let scene = Scene::hashed();
    assert_eq!(scene.plan().stores[0].kept, 2);
    let trusted = std::process::Command::new("openssl")
        .args(["x509", "-trustout", "-addtrust", "serverAuth", "-in"])
        .arg(fixture("ed25519.pem"))
        .output()
        .unwrap();
    assert!(trusted.status.success());
    fs::write(scene.store().join("0a0b0c0d.0"), trusted.stdout).unwrap();
    assert_eq!(scene.plan().stores[0].kept, 3);
    fs::copy(fixture("p384.pem"), scene.store().join("p384.pem")).unwrap();
    assert_eq!(scene.plan().stores[0].kept, 4);
}

impl Scene {
    /// A hashed directory in which one sequence has one of each removable item, and two items that stay.
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
        self.plan_with(false)
    }

    fn plan_with(&self, force: bool) -> Plan {
        // Reading the databases of this machine's packages takes most of the time.
        let packages = packages::Packages::default();
        let mut plan = Plan::default();
        plan.add(&self.store(), Kind::HashedDirectory, &context::Context { force, ..context(&packages) });
        plan
    }

    fn apply(&self, plan: &Plan) -> Result<Done, windlass_machine::Failure> {
        super::apply(plan, &Backups::open_or_make(&self.backups())?, NOW)
    }

    fn opened(&self) -> Backups {
        Backups::open(&self.backups()).unwrap().unwrap()
    }

    /// Undoes the last prune; returns the reasons for anything left in the backup.
    fn undo(&self) -> Result<Vec<String>, windlass_machine::Failure> {
        let backups = self.opened();
        match backups.all().unwrap().0.pop() {
            Some(backup) => put_back(backup, &backups),
            None => Ok(Vec::new()),
        }
    }

    /// The state of everything: type, mode, owner, time and content.
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

    /// Requires that OpenSSL would reach the whole sequence.
    fn assert_no_gap(&self, when: &str) {
        let expected: Vec<_> = (0..self.row().len()).map(|number| format!("{HASH}.{number}")).collect();
        assert_eq!(self.row(), expected, "{when}");
    }

    fn assert_no_backups(&self) {
        assert_eq!(fs::read_dir(self.backups()).unwrap().count(), 0);
    }
}

/// A plan for this machine, with these packages and nothing that was asked for besides.
fn context(packages: &packages::Packages) -> context::Context<'_> {
    context::Context {
        now: NOW,
        tests: false,
        force: false,
        image: None,
        packages,
        sources: [Path::new("/nowhere"); 2],
        spent: context::Spent::default(),
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
fn the_last_anchors_and_what_is_no_authority_stay() {
    let scene = Scene { directory: tempfile::tempdir().unwrap() };
    fs::create_dir(scene.store()).unwrap();
    fs::copy(fixture("expired.pem"), scene.store().join("43aeb4b8.0")).unwrap();
    let plan = scene.plan();
    assert!(plan.is_empty() && plan.notes[0].what.ends_with("no other anchor would be left"), "{:?}", plan.notes);
    // Unless it is forced.
    assert_eq!(names(&scene.plan_with(true)), ["43aeb4b8.0"]);
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
    let packages = packages::Packages::read(&root, std::slice::from_ref(&store), None);
    let context = context::Context { sources: [&theirs, &own], ..context(&packages) };
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
    let found = hashed::look(
        &windlass_journal::Directory { path: made.into(), fd: fs::File::open(&store).unwrap().into() },
        &context,
    )
    .unwrap();
    assert!(found.items.is_empty() && found.notes[0].what.contains("is generated by update-ca-certificates"));
}
