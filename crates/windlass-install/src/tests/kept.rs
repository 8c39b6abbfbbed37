//! Files that others made or changed before, after or during the installation.

use super::*;

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
    world.uninstall(&[]).unwrap();
    assert_eq!(world.read("/etc/preload.list"), "/opt/new.so\n/opt/other.so\n");
    assert!(world.read(DROP_IN).ends_with("[Service]\nNice=5\n") && !world.read(DROP_IN).contains("LD_PRELOAD"));
    assert_eq!(world.read(HOOK), "#!/bin/sh\n# mine now\n");
    assert!(!world.root().join("var/lib/windlass").exists() && !world.root().join("usr/local/bin").exists());
}

#[test]
fn a_library_that_somebody_else_names_stays() {
    let world = installed(World::new);
    world.uninstall(&[Target::Machine]).unwrap();
    world.write("/etc/preload.list", LIBRARY);
    let failure = world.uninstall(&[]).unwrap_err().to_string();
    assert!(failure.contains("names it, but `windlass install` did not add it"), "{failure}");
    assert!(world.root().join(&LIBRARY[1..]).exists());
    world.write("/etc/preload.list", "/opt/other.so");
    world.uninstall(&[]).unwrap();
    assert!(!world.root().join(&LIBRARY[1..]).exists());
}

#[test]
fn a_library_that_is_named_by_a_link_stays() {
    let world = World::new();
    world.install().unwrap();
    world.uninstall(&[Target::Machine]).unwrap();
    symlink("/usr/local/lib", world.root().join("opt-lib")).unwrap();
    world.write("/etc/preload.list", "/opt-lib/windlass/libwindlass_preload.so");
    let failure = world.uninstall(&[]).unwrap_err().to_string();
    assert!(failure.contains("names it, but `windlass install` did not add it"), "{failure}");
    assert!(world.root().join(&LIBRARY[1..]).exists());
}

/// Trials run between the plan and the change of the shared list.
#[test]
fn what_others_write_meanwhile_is_kept() {
    let world = World::new();
    let (plan, destination, executable) = (world.plan().unwrap(), world.destination(), world.path("windlass"));
    let _lock = state::open_or_make(&destination).unwrap();
    let executor = |record| Executor { destination: &destination, record, executable: &executable };
    let list = "/opt/other.so\n/opt/new.so\n";
    world.write("/etc/preload.list", list);
    let failure = executor(Record::default()).install(&plan).unwrap_err().to_string();
    assert!(failure.contains("something changed") && world.read("/etc/preload.list") == list, "{failure}");

    let record = || known::read(&destination).unwrap().unwrap();
    executor(record()).install(&world.plan().unwrap()).unwrap();
    let plan = undo::plan(&record(), &[], &destination).unwrap();
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
        world.write(&path.replace("x86_64-linux-gnu", windlass_machine::loader::preload_library::MULTIARCH), "");
    }
    let before = world.snapshot();
    world.install().unwrap();
    let made: Vec<_> = world.snapshot().into_keys().filter(|path| !before.contains_key(path)).collect();
    let is_expected = |path: &PathBuf| {
        ["paths.target.wants", "web.service.d", "var/lib/windlass", "var/cache"]
            .iter()
            .any(|part| path.to_string_lossy().contains(part))
    };
    assert!(made.iter().all(is_expected), "{made:?}");
    world.uninstall(&[]).unwrap();
    assert_eq!(world.snapshot(), before);
}
