//! Whole installations in directories.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use windlass_machine::Failure;

mod hostile;
mod kept;
mod plans;
mod stopped;

use super::apply::Executor;
use super::destination::{Destination, Home};
use super::plan::{Action, Context, Plan, Wanted};
use super::record::{Record, Target};
use super::systemd::Systemd;
use super::text::has_name;
use super::{known, state, undo};

const LIBRARY: &str = "/usr/local/lib/windlass/libwindlass_preload.so";
const HOOK: &str = "/etc/ca-certificates/update.d/windlass";
const DROP_IN: &str = "/etc/systemd/system/web.service.d/windlass.conf";

/// A root with the files that an installation meets, and a command and a library beside it.
struct World {
    directory: tempfile::TempDir,
    wanted: Wanted,
}

impl World {
    fn new() -> World {
        // Thousands of small synced changes: the memory file system is used for them, if there is one.
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
        fs::write(world.path("libwindlass_trace.so"), "the tracing library").unwrap();
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

    fn destination(&self) -> Destination {
        if self.wanted.shell.is_some() {
            Destination::user(&self.home())
        } else {
            Destination::system(Some(&self.root())).unwrap()
        }
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let mut plan = self.plan_with_trials()?;
        // There is no program in this root to try a library with.
        plan.steps.retain(|step| !matches!(step.action, Action::Try { .. }));
        Ok(plan)
    }

    fn plan_with_trials(&self) -> Result<Plan, Failure> {
        let (destination, home, executable) = (self.destination(), self.home(), self.path("windlass"));
        let record = known::read(&destination)?.unwrap_or_default();
        let context = Context {
            destination: &destination,
            home: self.wanted.shell.is_some().then_some(&home),
            systemd: if self.wanted.shell.is_some() { Systemd::Missing } else { Systemd::of(&destination) },
            executable: &executable,
            library: &|| Ok(self.path("library")),
            fits: &|_, _| Ok(Vec::new()),
            is_compiled: &|| destination.exists("/var/cache/windlass"),
        };
        Plan::install(&self.wanted, &context, &record)
    }

    fn install(&self) -> Result<(), Failure> {
        self.carry_out(&self.plan()?)
    }

    fn carry_out(&self, plan: &Plan) -> Result<(), Failure> {
        let (destination, executable) = (self.destination(), self.path("windlass"));
        let _lock = state::open_or_make(&destination)?;
        let record = known::read(&destination)?.unwrap_or_default();
        Executor { destination: &destination, record, executable: &executable }.install(plan).map(drop)
    }

    fn uninstall(&self, targets: &[Target]) -> Result<(), Failure> {
        let (destination, executable) = (self.destination(), self.path("windlass"));
        let Some(record) = known::read(&destination)? else { return state::remove_leftovers(&destination) };
        let _lock = state::open(&destination)?;
        let plan = undo::plan(&record, targets, &destination)?;
        Executor { destination: &destination, record, executable: &executable }.uninstall(&plan, Systemd::Missing)
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

    /// The invariant at every moment: every named file exists.
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

fn shell_world() -> World {
    let mut world = World::new();
    world.wanted = Wanted { shell: Some("/bin/bash".into()), ..Wanted::default() };
    world.write("/.profile", "umask 022");
    world
}

fn installed(make: impl Fn() -> World) -> World {
    let world = make();
    world.install().unwrap();
    world
}

#[test]
fn parts_are_undone_by_themselves() {
    let world = installed(World::new);
    world.uninstall(&[Target::Machine]).unwrap();
    assert_eq!(world.read("/etc/preload.list"), "/opt/other.so");
    assert!(world.read(DROP_IN).contains(LIBRARY) && world.root().join(&LIBRARY[1..]).exists());
    world.uninstall(&[Target::Service("web.service".into())]).unwrap();
    assert!(!world.root().join(&LIBRARY[1..]).exists(), "nothing needs it any more");
    assert!(world.read(HOOK).contains("compile"));
    let before = World::new().snapshot();
    world.uninstall(&[]).unwrap();
    assert_eq!(world.snapshot(), before);
}

#[test]
fn the_tracing_library_comes_and_goes_with_the_library() {
    let trace = LIBRARY.replace("preload", "trace");
    let world = installed(World::new);
    assert_eq!(world.read(&trace), "the tracing library");
    fs::write(world.path("libwindlass_trace.so"), "a newer one").unwrap();
    world.install().unwrap();
    assert_eq!(world.read(&trace), "a newer one");
    world.uninstall(&[Target::Machine]).unwrap();
    assert!(world.root().join(&trace[1..]).exists(), "a service has the library");
    world.uninstall(&[Target::Service("web.service".into())]).unwrap();
    assert!(!world.root().join("usr/local/lib").exists());
    // A build may have the other one only.
    fs::remove_file(world.path("libwindlass_trace.so")).unwrap();
    world.install().unwrap();
    assert!(world.root().join(&LIBRARY[1..]).exists() && !world.root().join(&trace[1..]).exists());
}

#[test]
fn a_second_command_is_kept_out() {
    let world = World::new();
    let destination = world.destination();
    let _lock = state::open_or_make(&destination).unwrap();
    let failure = world.install().unwrap_err().to_string();
    assert!(failure.contains("locked by another windlass"), "{failure}");
}
