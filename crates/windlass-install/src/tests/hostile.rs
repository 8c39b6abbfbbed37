//! Prepared images and records: nothing outside the place is touched, and only changes that `windlass install` makes
//! are made.

use std::os::unix::fs::chown;

use super::*;

const RECORD: &str = "/var/lib/windlass/install.json";
const STORES: &str = "/var/cache/windlass";

impl World {
    /// A directory beside the root with a file in it, which must remain.
    fn outside(&self, name: &str) -> PathBuf {
        let outside = self.path(name);
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("install.json"), "theirs").unwrap();
        fs::write(outside.join("some.store"), "theirs").unwrap();
        outside
    }

    fn refusal(&self) -> String {
        let before = self.snapshot();
        let failure = self.uninstall(&[]).unwrap_err().to_string();
        assert_eq!(self.snapshot(), before, "{failure}");
        failure
    }

    /// Replaces a part of the record.
    fn edit_record(&self, from: &str, to: &str) {
        let text = self.read(RECORD);
        assert!(text.contains(from), "{text}");
        self.write(RECORD, &text.replace(from, to));
    }
}

#[test]
fn leftovers_are_looked_for_in_the_place_only() {
    let world = World::new();
    let beside = world.outside(".windlass-new-root");
    fs::create_dir_all(beside.join("var/lib/windlass")).unwrap();
    fs::write(beside.join("var/lib/windlass/lock"), "").unwrap();
    world.uninstall(&[]).unwrap();
    assert!(beside.join("var/lib/windlass/lock").exists(), "above the root");

    let shell = shell_world();
    let above = shell.path(".windlass-new-root/.local/state/windlass");
    fs::create_dir_all(&above).unwrap();
    fs::write(above.join("lock"), "").unwrap();
    shell.uninstall(&[]).unwrap();
    assert!(above.join("lock").exists(), "above HOME");
}

#[test]
fn leftovers_are_no_links_and_hold_nothing_but_ours() {
    let world = World::new();
    let outside = world.outside("outside");
    let left = world.root().join("var/lib/.windlass-new-windlass");
    symlink(&outside, &left).unwrap();
    assert!(world.refusal().contains("not believed"));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
    fs::remove_file(&left).unwrap();
    fs::create_dir(&left).unwrap();
    fs::write(left.join("lock"), "").unwrap();
    fs::write(left.join("theirs"), "").unwrap();
    world.uninstall(&[]).unwrap();
    assert!(left.join("theirs").exists() && !left.join("lock").exists());
}

#[test]
fn only_stores_in_a_directory_of_its_own_are_removed() {
    let world = installed(World::new);
    let outside = world.outside("outside");
    let stores = world.root().join(&STORES[1..]);
    fs::remove_dir_all(&stores).unwrap();
    symlink(&outside, &stores).unwrap();
    world.uninstall(&[]).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2, "the link is not followed");

    let world = installed(World::new);
    world.write("/var/cache/windlass/0.store", "");
    world.write("/var/cache/windlass/notes", "");
    world.uninstall(&[]).unwrap();
    assert_eq!(fs::read_dir(world.root().join(&STORES[1..])).unwrap().count(), 1, "not ours");
}

#[test]
fn a_record_that_others_can_write_is_refused() {
    for path in [RECORD, "/var/lib/windlass"] {
        let world = installed(World::new);
        let real = world.root().join(&path[1..]);
        let mode = fs::metadata(&real).unwrap().mode();
        fs::set_permissions(&real, fs::Permissions::from_mode(mode | 0o020)).unwrap();
        assert!(world.refusal().contains("not believed"), "{path}");
        fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&real, Some(4321), None).unwrap();
            assert!(world.refusal().contains("not believed"), "{path}");
            assert!(world.plan().unwrap_err().to_string().contains("not believed"), "nor is it installed on top of it");
        }
    }
    let world = installed(World::new);
    let real = world.root().join(&RECORD[1..]);
    fs::rename(&real, world.path("record")).unwrap();
    symlink(world.path("record"), &real).unwrap();
    assert!(world.refusal().contains("not believed"), "a link");
}

#[test]
fn the_lock_is_no_link() {
    let world = installed(World::new);
    let lock = world.root().join("var/lib/windlass/lock");
    fs::remove_file(&lock).unwrap();
    symlink(world.path("created"), &lock).unwrap();
    assert!(world.refusal().contains("not believed"));
    assert!(!world.path("created").exists());
}

#[test]
fn a_record_of_what_is_never_done_is_refused() {
    let refused = |from: &str, to: &str| {
        let world = installed(World::new);
        world.edit_record(from, to);
        let said = world.refusal();
        assert!(said.contains("does no such thing"), "{to}: {said}");
    };
    refused("\"/var/cache/windlass\"", "\"/etc\"");
    refused("\"/var/cache/windlass\"", "\"/var/cache/windlass/../../../etc\"");
    refused("\"/usr/local/bin/windlass\"", "\"/usr/bin/env\"");
    refused("\"/etc/ld.so.preload\"", "\"/etc/shadow\"");
    refused("/web.service.d/", "/other.service.d/");
    refused("\"target\": \"machine\"", "\"target\": \"shell\"");
}

#[test]
fn a_users_record_is_of_that_users_files() {
    for (from, to) in [("/.profile\"", "/.other\""), ("/root/.profile\"", "/other/.profile\"")] {
        let world = installed(shell_world);
        let record = world.root().join(".local/state/windlass/install.json");
        let text = fs::read_to_string(&record).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&record, text.replace(from, to)).unwrap();
        let said = world.refusal();
        assert!(said.contains("does no such thing"), "{said}");
    }
}

#[test]
fn units_are_stopped_on_this_machine_only_and_only_ours() {
    let change = |unit: &str| {
        format!(
            "\"changes\": [\n{{\"target\": \"upkeep\", \"path\": \"windlass-compile.path\", \"kind\": \"started\", \
             \"unit\": \"{unit}\"}},"
        )
    };
    let world = installed(World::new);
    world.edit_record("\"changes\": [", &change("windlass-compile.path"));
    let record = known::read(&world.destination()).unwrap().unwrap();
    let plan = undo::plan(&record, &[], &world.destination()).unwrap();
    let stop = plan.iter().find(|undo| undo.path == Path::new("windlass-compile.path")).unwrap();
    assert!(stop.what.starts_with("keep"), "{}", stop.what);
    for unit in ["ssh.service", "--force"] {
        let world = installed(World::new);
        world.edit_record("\"changes\": [", &change(unit));
        assert!(world.refusal().contains("does no such thing"), "{unit}");
    }
}

#[test]
fn bytes_that_were_made_of_another_file_are_not_put_back() {
    let world = World::new();
    world.install().unwrap();
    let first = world.read("/etc/preload.list");
    // Somebody writes another list, and later takes the first one out of a backup.
    world.write("/etc/preload.list", "/opt/new.so\n");
    world.install().unwrap();
    world.write("/etc/preload.list", &first);
    world.uninstall(&[]).unwrap();
    assert_eq!(world.read("/etc/preload.list"), "/opt/other.so\n");
}

#[test]
fn programs_of_an_image_are_run_only_as_the_plan_says() {
    let world = World::new();
    let destination = world.destination();
    let plan = |untried| {
        let context = Context {
            destination: &destination,
            home: None,
            systemd: Systemd::Missing,
            executable: &world.path("windlass"),
            library: &|| Ok(world.path("library")),
            fits: &|_, _| Ok(Vec::new()),
            is_compiled: &|| true,
        };
        let wanted = Wanted { machine: true, untried, ..Wanted::default() };
        Plan::install(&wanted, &context, &Record::default()).unwrap()
    };
    let tries = |plan: Plan| plan.steps.into_iter().find(|step| matches!(step.action, Action::Try { .. }));
    let said = if rustix::process::geteuid().is_root() { "as root (chroot)" } else { "run nothing" };
    assert!(tries(plan(false)).unwrap().what.contains(said));
    assert!(tries(plan(true)).is_none());
}
