use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use rustix::fs::ResolveFlags;

use super::*;

fn image() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("etc/ssl/certs")).unwrap();
    std::fs::create_dir_all(root.join("usr/lib/ssl")).unwrap();
    std::fs::write(root.join("etc/ssl/certs/all.crt"), "").unwrap();
    symlink("/etc/ssl/certs/all.crt", root.join("usr/lib/ssl/cert.pem")).unwrap();
    symlink("/etc/ssl/certs", root.join("usr/lib/ssl/certs")).unwrap();
    symlink("../../../../../../etc/ssl/certs/all.crt", root.join("usr/lib/ssl/up.pem")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    directory
}

#[test]
fn links_stay_inside() {
    let directory = image();
    let reach = |path: &str, last| Root(Some(directory.path())).reach(Path::new(path), last);
    let inside = |path: &str| directory.path().join(path);
    for path in
        ["/usr/lib/ssl/cert.pem", "/usr/lib/ssl/certs/all.crt", "/usr/lib/ssl/up.pem", "/../etc/ssl/certs/all.crt"]
    {
        assert_eq!(reach(path, Last::Followed).unwrap(), inside("etc/ssl/certs/all.crt"), "{path}");
    }
    // What does not exist yet, behind a link.
    assert_eq!(reach("/usr/lib/ssl/certs/new/one", Last::Followed).unwrap(), inside("etc/ssl/certs/new/one"));
    assert_eq!(reach("/usr/lib/ssl/certs", Last::Itself).unwrap(), inside("usr/lib/ssl/certs"));
    assert_eq!(reach("/loop", Last::Followed).unwrap_err().raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    assert_eq!(reach("/loop", Last::Itself).unwrap(), inside("loop"));
    assert_eq!(
        Root(Some(&inside("no-root"))).reach(Path::new("/x"), Last::Followed).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn a_target_is_told_as_programs_name_it() {
    let directory = image();
    let root = Root(Some(directory.path()));
    let target = |path: &str| root.target(Path::new(path)).map(|path| path.display().to_string());
    assert_eq!(target("/usr/lib/ssl/cert.pem").as_deref(), Some("/etc/ssl/certs/all.crt"));
    assert_eq!(target("/usr/lib/ssl/certs").as_deref(), Some("/etc/ssl/certs"));
    assert_eq!(target("/usr/lib/ssl/up.pem").as_deref(), Some("/etc/ssl/certs/all.crt"));
    assert_eq!(target("/etc/ssl/certs/all.crt"), None);
    assert_eq!(target("/no/such"), None);
}

#[test]
fn without_another_root_paths_are_as_they_are() {
    let directory = image();
    let lib = directory.path().canonicalize().unwrap().join("usr/lib/ssl");
    symlink("cert.pem", lib.join("second.pem")).unwrap();
    assert_eq!(Root(None).reach(&lib.join("cert.pem"), Last::Followed).unwrap(), lib.join("cert.pem"));
    assert_eq!(Root(None).target(&lib.join("cert.pem")).unwrap(), Path::new("/etc/ssl/certs/all.crt"));
    assert_eq!(Root(None).target(&lib.join("second.pem")).unwrap(), lib.join("cert.pem"));
}

/// The kernel's result for an existing path: its target below the root, or the error. None: the kernel refuses the
/// call.
fn judged(root: &Path, path: &Path, last: Last) -> Option<Result<PathBuf, Errno>> {
    let nofollow = if last == Last::Itself { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let directory = rustix::fs::open(root, flags | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let open = || rustix::fs::openat2(&directory, path, flags | nofollow, Mode::empty(), ResolveFlags::IN_ROOT);
    // openat2(2): EAGAIN if anything on this machine was renamed or mounted while `..` was followed.
    let mut found = open();
    while matches!(found, Err(Errno::AGAIN)) {
        found = open();
    }
    match found {
        Ok(found) => {
            let real = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).unwrap();
            Some(Ok(real.strip_prefix(root).unwrap().to_owned()))
        }
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(errno) => Some(Err(errno)),
    }
}

/// Trees of directories, files and links of every kind, and paths through them. With WINDLASS_TEST_SEED other ones.
#[test]
fn the_kernel_would_get_to_the_same_place() {
    let seed = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..60 {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        for _ in 0..14 {
            let place = root.join(random_path(&mut random, false));
            // Whatever is in the way of one is a case for the next.
            let _ = match random.u8(0..5) {
                0..2 => std::fs::create_dir_all(place),
                2 => std::fs::write(place, ""),
                _ => symlink(random_path(&mut random, true), place),
            };
        }
        for _ in 0..200 {
            let path = random_path(&mut random, true);
            let last = if random.bool() { Last::Followed } else { Last::Itself };
            let Some(judged) = judged(&root, &path, last) else { return };
            let said = match Walk::along(&root, &path, last) {
                Ok(Walk { missing: Some(errno), .. }) | Err(errno) => Err(errno),
                Ok(walk) => Ok(walk.inside()),
            };
            assert_eq!(said, judged, "{} {last:?} in {}, seed {seed}", path.display(), root.display());
            *seen.entry(format!("{:?}", judged.map(|_| ()))).or_insert(0) += 1;
        }
    }
    assert!(seen.len() >= 4 && seen.values().all(|count| *count > 20), "{seen:?}");
}

/// Of few names, so that they meet.
fn random_path(random: &mut fastrand::Rng, is_any: bool) -> PathBuf {
    let mut path = PathBuf::from(if is_any && random.bool() { "/" } else { "" });
    for _ in 0..random.u8(1..5) {
        path.push(if is_any && random.u8(0..4) == 0 { ".." } else { random.choice(["a", "b", "c", "d"]).unwrap() });
    }
    path
}

/// Another thread swaps a directory for a link out of the root while it is walked through.
#[test]
fn a_swap_meanwhile_leads_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir(directory.path().join("b")).unwrap();
    symlink("..", root.join("link")).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let (from, to) = (root.join("a"), root.join("link"));
                let here = rustix::fs::CWD;
                let _ = rustix::fs::renameat_with(here, &from, here, &to, rustix::fs::RenameFlags::EXCHANGE);
            }
        });
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1_000_000 {
            let found = Root(Some(&root)).reach(Path::new("/a/b"), Last::Followed).unwrap();
            seen.insert(found.strip_prefix(&root).unwrap().to_owned());
            if seen.len() == 2 {
                break;
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [Path::new("a/b"), Path::new("b")]);
    });
}
