//! Killed before each single change, and then undone.

use super::*;

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
