//! Stopped after each single change of the file system, and then completed or undone.

use windlass_journal::LEFT;

use super::*;

/// Stops `first` after 0, 1, 2, … changes, then does `second`, and compares.
fn stopped_everywhere(
    make: impl Fn() -> World,
    first: impl Fn(&World) -> Result<(), Failure>,
    second: impl Fn(&World) -> Result<(), Failure>,
    expected: &BTreeMap<PathBuf, String>,
) -> usize {
    for changes in 0.. {
        let world = make();
        LEFT.set(Some(changes));
        let outcome = first(&world);
        LEFT.set(None);
        let when = format!("after {changes} changes");
        world.assert_nothing_dangles(&when);
        second(&world).unwrap_or_else(|failure| panic!("{when}: {failure}"));
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

#[test]
fn an_installation_that_was_stopped_anywhere_is_completed_or_undone() {
    for make in [World::new, shell_world] {
        let before = make().snapshot();
        let after = installed(make).snapshot();
        assert!(after.len() > before.len() + 3);
        let install = World::install;
        let uninstall = |world: &World| world.uninstall(&[]);
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
        let uninstall = |world: &World| world.uninstall(&[]);
        assert!(stopped_everywhere(|| installed(make), uninstall, uninstall, &before) > 15);
        if make().wanted.shell.is_none() {
            let again = |world: &World| {
                world.install()?;
                // The order in the record may be another one; what counts is that it is all there, and undone.
                world.uninstall(&[])?;
                world.install()
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
    let uninstall = |world: &World| world.uninstall(&[]);
    assert!(stopped_everywhere(make, World::install, uninstall, &before) > 3);
}
