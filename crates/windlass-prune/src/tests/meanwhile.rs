//! Changes by others between the plan, its steps, and the undoing.

use super::*;

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
    assert!(
        done.left.iter().any(|left| left.ends_with("expired.pem: it changed after the plan was made, so it stays"))
    );
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
    assert!(scene.apply(&plan).unwrap().left[0].contains("another directory has taken its place"));
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
    assert!(left.len() == 1 && left[0].contains("expired.pem: another file has taken its place"), "{left:?}");
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

/// A directory of another user, who swaps its files: root moves nothing except the planned files.
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
    let backups = scene.opened();
    for backup in backups.all().unwrap().0 {
        for entry in &backup.record.entries {
            if let Ok(target) = fs::read_link(backup.directory.path.join(&entry.saved)) {
                assert_ne!(target, victim, "a link that was not planned is in the backup");
            }
        }
    }
}
