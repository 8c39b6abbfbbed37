//! The content of a plan, and the conditions that prevent one.

use super::*;

#[test]
fn the_second_installation_has_nothing_to_do() {
    for make in [World::new, shell_world] {
        let world = make();
        assert!(!world.plan().unwrap().is_done());
        world.install().unwrap();
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
fn what_is_in_the_way_is_refused() {
    let refused = |why: &[&str], prepare: &dyn Fn(&World)| {
        let world = World::new();
        prepare(&world);
        let before = world.snapshot();
        let failure = world.install().unwrap_err().to_string();
        assert_eq!(world.snapshot(), before, "nothing is done: {failure}");
        assert!(failure.contains("\n  help: ") && why.iter().all(|part| failure.contains(part)), "{why:?}: {failure}");
    };
    let unit = "/usr/lib/systemd/system/web.service";
    refused(&["not made by `windlass install`"], &|world| world.write(DROP_IN, "[Service]\nNice=3\n"));
    refused(&["no such unit"], &|world| fs::remove_file(world.root().join(&unit[1..])).unwrap());
    refused(&["symbolic link to"], &|world| fs::remove_file(world.root().join("etc/preload.list")).unwrap());
    refused(&["another architecture"], &|world| world.write("/lib/ld-linux.so.2", ""));
    refused(&["/etc/default/web"], &|world| {
        world.write("/etc/default/web", "LD_PRELOAD=/a.so\n");
        world.write(unit, "[Service]\nEnvironmentFile=-/etc/default/web\n");
    });
    refused(&["read after"], &|world| {
        world.write("/etc/systemd/system/web.service.d/zz.conf", "[Service]\nEnvironment=LD_PRELOAD=/a.so\n")
    });
    refused(&["RootDirectory=/srv/jail"], &|world| world.write(unit, "[Service]\nRootDirectory=/srv/jail\n"));
    let link = |world: &World, from: &str, to: &str| std::os::unix::fs::symlink(to, world.root().join(from)).unwrap();
    refused(&["--service site.service"], &|world| {
        fs::rename(world.root().join(&unit[1..]), world.root().join("usr/lib/systemd/system/site.service")).unwrap();
        link(world, "etc/systemd/system/web.service", "/usr/lib/systemd/system/site.service");
    });
    // A drop-in of another name of the unit is one of the unit.
    refused(&["www.service.d/zz.conf", "read after"], &|world| {
        link(world, "etc/systemd/system/www.service", unit);
        world.write("/etc/systemd/system/www.service.d/zz.conf", "[Service]\nEnvironment=LD_PRELOAD=/a.so\n")
    });
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
fn programs_that_apparmor_keeps_from_the_copied_library_are_told_of() {
    let note = |world: &World| world.plan().unwrap().notes.into_iter().find(|note| note.contains("AppArmor"));
    let world = World::new();
    assert_eq!(note(&world), None);
    world.write("/sys/kernel/security/apparmor/profiles", "/usr/sbin/cupsd (enforce)\n");
    assert!(note(&world).unwrap().contains("/usr/local/lib/windlass/*.so mr,"));
    let quiet = World { wanted: Wanted::default(), ..world };
    assert_eq!(note(&quiet), None, "nothing loads it");
}

/// The libraries that are tried, each with whether its file comes earlier in the plan.
fn trials(world: &World) -> Vec<(PathBuf, bool)> {
    let steps = world.plan_with_trials().unwrap().steps;
    let is_file = |step: &super::super::plan::Step| {
        step.to_do && matches!(step.action, Action::File { .. }) && step.path.ends_with("libwindlass_preload.so")
    };
    let copied = steps.iter().position(is_file);
    let trial = |(index, step): (usize, &super::super::plan::Step)| match &step.action {
        Action::Try { library, .. } => Some((library.clone(), copied.is_some_and(|copied| copied < index))),
        _ => None,
    };
    steps.iter().enumerate().filter_map(trial).collect()
}

#[test]
fn a_library_that_is_loaded_already_is_tried_before_it_is_another() {
    let world = installed(shell_world);
    let library = world.root().join(".local/lib/windlass/libwindlass_preload.so");
    assert_eq!(trials(&world), []);
    fs::write(world.path("library"), "a newer one").unwrap();
    assert_eq!(trials(&world), [(world.path("library"), false)]);
    // An invalid library: programs report it, and running programs keep the one that works.
    let failure = world.carry_out(&world.plan_with_trials().unwrap()).unwrap_err().to_string();
    assert!(failure.contains("can't use the library"), "{failure}");
    assert_eq!(fs::read(&library).unwrap(), b"the library");
    // A missing library can't become worse.
    fs::remove_file(&library).unwrap();
    assert_eq!(trials(&world), [(library, true)]);
    // In an image only its own files can be tried.
    let world = installed(World::new);
    assert_eq!(trials(&world), []);
    fs::write(world.path("library"), "a newer one").unwrap();
    assert_eq!(trials(&world), [(PathBuf::from(LIBRARY), true)]);
    let untried = World { wanted: Wanted { untried: true, ..world.wanted.clone() }, ..world };
    assert_eq!(trials(&untried), []);
}
