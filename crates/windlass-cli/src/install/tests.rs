//! Whole installations in directories, stopped after each single change of the file system.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

mod hostile;

use super::apply::Executor;
use super::disk::Disk;
use super::place::{Home, Place};
use super::plan::{Action, Context, Plan, Wanted};
use super::record::{Record, Target};
use super::systemd::Systemd;
use super::text::has_name;
use super::{state, undo};
use crate::failure::Failure;

const LIBRARY: &str = "/usr/local/lib/windlass/libwindlass_preload.so";
const HOOK: &str = "/etc/ca-certificates/update.d/windlass";
const DROP_IN: &str = "/etc/systemd/system/web.service.d/windlass.conf";

/// A root with what an installation meets, and a command and a library beside it.
struct World {
    directory: tempfile::TempDir,
    wanted: Wanted,
}

impl World {
    fn new() -> World {
        // Thousands of small changes, each made durable: memory is the place for that, where there is such a directory.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let world =
            World { directory, wanted: Wanted { machine: true, services: vec!["web".into()], ..Wanted::default() } };
        for path in
            ["etc/ca-certificates/update.d", "usr/lib/systemd/system", "etc/systemd/system", "usr/local", "var/lib"]
        {
            fs::create_dir_all(world.root().join(path)).unwrap();
        }
        world.write("/usr/lib/systemd/systemd", "");
        world.write(
            "/usr/lib/systemd/system/web.service",
            "[Service]\nEnvironment=LD_PRELOAD=/opt/x.so\nExecStart=/bin/true\n",
        );
        // Without an end of line, and with a mode and a link of its own.
        world.write("/etc/preload.list", "/opt/other.so");
        fs::set_permissions(world.root().join("etc/preload.list"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("/etc/preload.list", world.root().join("etc/ld.so.preload")).unwrap();
        fs::write(world.path("windlass"), "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(world.path("windlass"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(world.path("library"), "the library").unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("root")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(&path[1..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(&path[1..])).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn home(&self) -> Home {
        let path = self.root();
        Home { config: path.join(".config"), state: path.join(".local/state"), path }
    }

    fn place(&self) -> Place {
        if self.wanted.shell.is_some() { Place::user(&self.home()) } else { Place::system(Some(&self.root())).unwrap() }
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let (place, home, executable) = (self.place(), self.home(), self.path("windlass"));
        let record = Record::read(&place)?.unwrap_or_else(Record::empty);
        let context = Context {
            place: &place,
            home: self.wanted.shell.is_some().then_some(&home),
            systemd: if self.wanted.shell.is_some() { Systemd::Missing } else { Systemd::of(&place) },
            executable: &executable,
            library: &|| Ok(self.path("library")),
            is_compiled: &|| place.exists("/var/cache/windlass"),
        };
        let mut plan = Plan::install(&self.wanted, &context, &record)?;
        // There is no program in this root to try a library with.
        plan.steps.retain(|step| !matches!(step.action, Action::Try { .. }));
        Ok(plan)
    }

    fn install(&self, disk: &Disk) -> Result<(), Failure> {
        let (plan, place, executable) = (self.plan()?, self.place(), self.path("windlass"));
        let _lock = state::open_or_make(&place, disk)?;
        let record = Record::read(&place)?.unwrap_or_else(Record::empty);
        Executor { place: &place, disk, record, executable: &executable }.install(&plan).map(drop)
    }

    fn uninstall(&self, targets: &[Target], disk: &Disk) -> Result<(), Failure> {
        let (place, executable) = (self.place(), self.path("windlass"));
        let Some(record) = Record::read(&place)? else { return state::remove_leftovers(&place, disk) };
        let _lock = state::open(&place, disk)?;
        let plan = undo::plan(&record, targets, &place)?;
        Executor { place: &place, disk, record, executable: &executable }.uninstall(&plan, Systemd::Missing)
    }

    /// Everything in the root: kind, mode, owner, content.
    fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        let mut left = vec![self.root()];
        while let Some(path) = left.pop() {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                String::new()
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            let owner = format!("{:o} {}:{}", metadata.mode(), metadata.uid(), metadata.gid());
            all.insert(path.strip_prefix(self.root()).unwrap().to_owned(), format!("{owner} {content}"));
        }
        all
    }

    /// What must be so at every moment: nothing is named that is not there.
    fn assert_nothing_dangles(&self, when: &str) {
        let library = if self.wanted.shell.is_some() {
            self.root().join(".local/lib/windlass/libwindlass_preload.so")
        } else {
            self.root().join(&LIBRARY[1..])
        };
        let complete = fs::read(&library).is_ok_and(|bytes| bytes == b"the library");
        let list = fs::read(self.root().join("etc/preload.list")).unwrap();
        let in_drop_in = fs::read_to_string(self.root().join(&DROP_IN[1..])).is_ok_and(|text| text.contains(LIBRARY));
        assert!(complete || !(has_name(&list, Path::new(LIBRARY)) || in_drop_in), "{when}: named, but not there");
    }
}

/// Stops `first` after 0, 1, 2, … changes, then does `second`, and compares.
fn stopped_everywhere(
    make: impl Fn() -> World,
    first: impl Fn(&World, &Disk) -> Result<(), Failure>,
    second: impl Fn(&World, &Disk) -> Result<(), Failure>,
    expected: &BTreeMap<PathBuf, String>,
) -> usize {
    for changes in 0.. {
        let world = make();
        let outcome = first(&world, &Disk::stopping_after(changes));
        let when = format!("after {changes} changes");
        world.assert_nothing_dangles(&when);
        second(&world, &Disk::default()).unwrap_or_else(|failure| panic!("{when}: {failure}"));
        world.assert_nothing_dangles(&when);
        let now = world.snapshot();
        for path in now.keys().chain(expected.keys()) {
            assert_eq!(now.get(path), expected.get(path), "{when}: {}", path.display());
        }
        if outcome.is_ok() {
            return changes;
        }
        let said = outcome.unwrap_err().to_string();
        assert!(said.contains("stopped by the test"), "{said}");
    }
    unreachable!()
}

fn shell_world() -> World {
    let mut world = World::new();
    world.wanted = Wanted { shell: Some("/bin/bash".into()), ..Wanted::default() };
    world.write("/.profile", "umask 022");
    world
}

fn installed(make: impl Fn() -> World) -> World {
    let world = make();
    world.install(&Disk::default()).unwrap();
    world
}

#[test]
fn an_installation_that_was_stopped_anywhere_is_completed_or_undone() {
    for make in [World::new, shell_world] {
        let before = make().snapshot();
        let after = installed(make).snapshot();
        assert!(after.len() > before.len() + 3);
        let install = World::install;
        let uninstall = |world: &World, disk: &Disk| world.uninstall(&[], disk);
        assert!(stopped_everywhere(make, install, uninstall, &before) > 15);
        // The record holds the paths of nothing that differs between two worlds.
        if make().wanted.shell.is_none() {
            stopped_everywhere(make, install, install, &after);
        }
    }
}

#[test]
fn a_removal_that_was_stopped_anywhere_is_completed_or_taken_back() {
    for make in [World::new, shell_world] {
        let before = make().snapshot();
        let after = installed(make).snapshot();
        let uninstall = |world: &World, disk: &Disk| world.uninstall(&[], disk);
        assert!(stopped_everywhere(|| installed(make), uninstall, uninstall, &before) > 15);
        if make().wanted.shell.is_none() {
            let again = |world: &World, disk: &Disk| {
                world.install(disk)?;
                // The order in the record may be another one; what counts is that it is all there, and undone.
                world.uninstall(&[], disk)?;
                world.install(disk)
            };
            stopped_everywhere(|| installed(make), uninstall, again, &after);
        }
    }
}

#[test]
fn an_update_that_was_stopped_anywhere_is_undone() {
    let before = World::new().snapshot();
    let make = || {
        let world = installed(World::new);
        fs::write(world.path("windlass"), "#!/bin/sh\n# newer\nexit 0\n").unwrap();
        world
    };
    let uninstall = |world: &World, disk: &Disk| world.uninstall(&[], disk);
    assert!(stopped_everywhere(make, World::install, uninstall, &before) > 3);
}

#[test]
fn the_second_installation_has_nothing_to_do() {
    for make in [World::new, shell_world] {
        let world = make();
        assert!(!world.plan().unwrap().is_done());
        world.install(&Disk::default()).unwrap();
        let plan = world.plan().unwrap();
        assert!(plan.is_done(), "{plan:?}");
    }
}

#[test]
fn what_was_done_since_the_plan_was_shown_is_no_other_plan() {
    let world = World::new();
    let shown = world.plan().unwrap();
    world.write(HOOK, "#!/bin/sh\n# another package's\n");
    fs::create_dir_all(world.root().join("var/cache/windlass")).unwrap();
    let less = world.plan().unwrap();
    assert!(less != shown && less.is_within(&shown) && !shown.is_within(&less));
    world.write("/etc/preload.list", "/opt/new.so\n");
    assert!(!world.plan().unwrap().is_within(&shown), "other bytes would be written");
}

#[test]
fn what_is_there_is_kept() {
    let world = installed(World::new);
    assert_eq!(world.read("/etc/preload.list"), format!("/opt/other.so\n{LIBRARY}\n"));
    let metadata = fs::symlink_metadata(world.root().join("etc/preload.list")).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o640);
    assert!(world.read(DROP_IN).contains(&format!("Environment=\"LD_PRELOAD={LIBRARY}:/opt/x.so\"\n")));
    assert!(world.read(HOOK).contains("/usr/local/bin/windlass compile"));
}

#[test]
fn only_our_part_is_taken_out_of_what_was_changed_since() {
    let world = installed(World::new);
    world.write("/etc/preload.list", &format!("/opt/new.so\n{}", world.read("/etc/preload.list")));
    world.write(DROP_IN, &format!("{}Nice=5\n", world.read(DROP_IN)));
    world.write(HOOK, "#!/bin/sh\n# mine now\n");
    world.uninstall(&[], &Disk::default()).unwrap();
    assert_eq!(world.read("/etc/preload.list"), "/opt/new.so\n/opt/other.so\n");
    assert!(world.read(DROP_IN).ends_with("[Service]\nNice=5\n") && !world.read(DROP_IN).contains("LD_PRELOAD"));
    assert_eq!(world.read(HOOK), "#!/bin/sh\n# mine now\n");
    assert!(!world.root().join("var/lib/windlass").exists() && !world.root().join("usr/local/bin").exists());
}

#[test]
fn parts_are_undone_by_themselves() {
    let world = installed(World::new);
    world.uninstall(&[Target::Machine], &Disk::default()).unwrap();
    assert_eq!(world.read("/etc/preload.list"), "/opt/other.so");
    assert!(world.read(DROP_IN).contains(LIBRARY) && world.root().join(&LIBRARY[1..]).exists());
    world.uninstall(&[Target::Service("web.service".into())], &Disk::default()).unwrap();
    assert!(!world.root().join(&LIBRARY[1..]).exists(), "nothing needs it any more");
    assert!(world.read(HOOK).contains("compile"));
    let before = World::new().snapshot();
    world.uninstall(&[], &Disk::default()).unwrap();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_library_that_somebody_else_names_stays() {
    let world = installed(World::new);
    world.uninstall(&[Target::Machine], &Disk::default()).unwrap();
    world.write("/etc/preload.list", LIBRARY);
    let failure = world.uninstall(&[], &Disk::default()).unwrap_err().to_string();
    assert!(failure.contains("names it, though not by `windlass install`"), "{failure}");
    assert!(world.root().join(&LIBRARY[1..]).exists());
    world.write("/etc/preload.list", "/opt/other.so");
    world.uninstall(&[], &Disk::default()).unwrap();
    assert!(!world.root().join(&LIBRARY[1..]).exists());
}

#[test]
fn a_library_that_is_named_by_a_link_stays() {
    let world = World::new();
    world.install(&Disk::default()).unwrap();
    world.uninstall(&[Target::Machine], &Disk::default()).unwrap();
    symlink("/usr/local/lib", world.root().join("opt-lib")).unwrap();
    world.write("/etc/preload.list", "/opt-lib/windlass/libwindlass_preload.so");
    let failure = world.uninstall(&[], &Disk::default()).unwrap_err().to_string();
    assert!(failure.contains("names it, though not by `windlass install`"), "{failure}");
    assert!(world.root().join(&LIBRARY[1..]).exists());
}

/// Programs are tried between the plan and the change of a list that is everybody's.
#[test]
fn what_others_write_meanwhile_is_kept() {
    let world = World::new();
    let (plan, place, executable, disk) =
        (world.plan().unwrap(), world.place(), world.path("windlass"), Disk::default());
    let _lock = state::open_or_make(&place, &disk).unwrap();
    let executor = |record| Executor { place: &place, disk: &disk, record, executable: &executable };
    let list = "/opt/other.so\n/opt/new.so\n";
    world.write("/etc/preload.list", list);
    let failure = executor(Record::empty()).install(&plan).unwrap_err().to_string();
    assert!(failure.contains("something changed") && world.read("/etc/preload.list") == list, "{failure}");

    let record = || Record::read(&place).unwrap().unwrap();
    executor(record()).install(&world.plan().unwrap()).unwrap();
    let plan = undo::plan(&record(), &[], &place).unwrap();
    let list = format!("{}/opt/newer.so\n", world.read("/etc/preload.list"));
    world.write("/etc/preload.list", &list);
    let failure = executor(record()).uninstall(&plan, Systemd::Missing).unwrap_err().to_string();
    assert!(failure.contains("something changed") && world.read("/etc/preload.list") == list, "{failure}");
}

#[test]
fn files_of_a_package_serve_as_they_are() {
    let world = World::new();
    for unit in ["windlass-compile.path", "windlass-compile.service"] {
        world.write(&format!("/usr/lib/systemd/system/{unit}"), "[Unit]\n");
    }
    world.write(HOOK, "#!/bin/sh\n");
    for path in ["/usr/bin/windlass", "/usr/lib/x86_64-linux-gnu/windlass/libwindlass_preload.so"] {
        world.write(&path.replace("x86_64-linux-gnu", crate::run::library::MULTIARCH), "");
    }
    let before = world.snapshot();
    world.install(&Disk::default()).unwrap();
    let made: Vec<_> = world.snapshot().into_keys().filter(|path| !before.contains_key(path)).collect();
    let is_expected = |path: &PathBuf| {
        ["paths.target.wants", "web.service.d", "var/lib/windlass", "var/cache"]
            .iter()
            .any(|part| path.to_string_lossy().contains(part))
    };
    assert!(made.iter().all(is_expected), "{made:?}");
    world.uninstall(&[], &Disk::default()).unwrap();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn what_is_in_the_way_is_refused() {
    let refusal = |prepare: &dyn Fn(&World)| {
        let world = World::new();
        prepare(&world);
        let before = world.snapshot();
        let failure = world.install(&Disk::default()).unwrap_err().to_string();
        assert_eq!(world.snapshot(), before, "nothing is done: {failure}");
        assert!(failure.contains("\n  help: "), "{failure}");
        failure
    };
    let unit = "/usr/lib/systemd/system/web.service";
    let said = refusal(&|world| world.write(DROP_IN, "[Service]\nNice=3\n"));
    assert!(said.contains("not made by `windlass install`"), "{said}");
    let said = refusal(&|world| fs::remove_file(world.root().join(&unit[1..])).unwrap());
    assert!(said.contains("no such unit"), "{said}");
    let said = refusal(&|world| fs::remove_file(world.root().join("etc/preload.list")).unwrap());
    assert!(said.contains("symbolic link to"), "{said}");
    let said = refusal(&|world| world.write("/lib/ld-linux.so.2", ""));
    assert!(said.contains("another architecture"), "{said}");
    let said = refusal(&|world| {
        world.write("/etc/default/web", "LD_PRELOAD=/a.so\n");
        world.write(unit, "[Service]\nEnvironmentFile=-/etc/default/web\n");
    });
    assert!(said.contains("/etc/default/web"), "{said}");
    let said = refusal(&|world| {
        world.write("/etc/systemd/system/web.service.d/zz.conf", "[Service]\nEnvironment=LD_PRELOAD=/a.so\n")
    });
    assert!(said.contains("read after"), "{said}");
    let said = refusal(&|world| world.write(unit, "[Service]\nRootDirectory=/srv/jail\n"));
    assert!(said.contains("RootDirectory=/srv/jail"), "{said}");
    let link = |world: &World, from: &str, to: &str| std::os::unix::fs::symlink(to, world.root().join(from)).unwrap();
    let said = refusal(&|world| {
        fs::rename(world.root().join(&unit[1..]), world.root().join("usr/lib/systemd/system/site.service")).unwrap();
        link(world, "etc/systemd/system/web.service", "/usr/lib/systemd/system/site.service");
    });
    assert!(said.contains("--service site.service"), "{said}");
    // A drop-in of another name of the unit is one of the unit.
    let said = refusal(&|world| {
        link(world, "etc/systemd/system/www.service", unit);
        world.write("/etc/systemd/system/www.service.d/zz.conf", "[Service]\nEnvironment=LD_PRELOAD=/a.so\n")
    });
    assert!(said.contains("www.service.d/zz.conf") && said.contains("read after"), "{said}");
}

#[test]
fn what_is_missing_is_left_out_and_said() {
    let world = World { wanted: Wanted::default(), ..World::new() };
    fs::remove_dir_all(world.root().join("etc/ca-certificates")).unwrap();
    fs::remove_file(world.root().join("usr/lib/systemd/systemd")).unwrap();
    let plan = world.plan().unwrap();
    assert!(plan.notes[0].contains("no hook") && plan.notes[1].contains("no units"), "{:?}", plan.notes);
    assert!(!plan.changes(|path| path.starts_with("/etc")), "{plan:?}");
}

#[test]
fn a_second_command_is_kept_out() {
    let world = World::new();
    let place = world.place();
    let _lock = state::open_or_make(&place, &Disk::default()).unwrap();
    let failure = world.install(&Disk::default()).unwrap_err().to_string();
    assert!(failure.contains("locked by another windlass"), "{failure}");
}
