//! Compiled stores of ordinary users: where they are, and who believes them.
//!
//! As root these tests become an ordinary user; else they are run as who they are run as.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use common::{copy_program, fixture, is_root, json_of};
use predicates::prelude::*;
use predicates::str::contains;

/// No account is needed. Not 65534, which stands for users without a number: nobody believes that one.
const USER: u32 = 54_321;

/// A place that the user may look into, and a copy of the command there: the build's own directory may be private.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        copy_program(env!("CARGO_BIN_EXE_windlass"), &directory.path().join("windlass"));
        std::fs::copy(fixture("rsa.pem"), directory.path().join("bundle.pem")).unwrap();
        let home = directory.path().join("home");
        std::fs::create_dir(&home).unwrap();
        if is_root() {
            chown(&home, Some(USER), Some(USER)).unwrap();
        }
        Scratch(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command, as an ordinary user with a home.
    fn windlass(&self) -> assert_cmd::Command {
        let (program, user) = (self.path("windlass"), USER.to_string());
        let mut command = if is_root() {
            let mut command = assert_cmd::Command::new("setpriv");
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(program);
            command
        } else {
            assert_cmd::Command::new(program)
        };
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.path("home"));
        command
    }

    fn compile(&self) -> assert_cmd::Command {
        let mut command = self.windlass();
        command.arg("compile").arg(self.path("bundle.pem"));
        command
    }
}

fn stores(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some()).count()
}

#[test]
fn a_users_stores_are_where_the_user_says() {
    let place = Scratch::new();
    let nowhere = || {
        contains(
            "no directory for compiled stores: programs look in /var/cache/windlass, and use only stores of \
                  root there",
        )
        .and(contains("help: for yourself: set WINDLASS_STORE=DIR for this command, and for the programs"))
    };
    place.compile().env("XDG_CACHE_HOME", place.path("home")).assert().code(1).stdout("").stderr(nowhere());
    place.windlass().args(["cache", "clear"]).assert().code(1).stderr(nowhere());
    assert_eq!(std::fs::read_dir(place.path("home")).unwrap().count(), 0);
    // Whether it is compiled for the machine may be asked by everybody.
    place.compile().arg("--check").assert().code(5).stdout(contains("/var/cache/windlass"));

    let directory = place.path("home/.cache/windlass");
    let own = |mut command: assert_cmd::Command| {
        command.env("WINDLASS_STORE", &directory);
        command
    };
    own(place.compile()).assert().success().stderr("");
    assert_eq!(stores(&directory), 1);
    assert_eq!(directory.metadata().unwrap().uid(), place.path("home").metadata().unwrap().uid());
    let status = |command: assert_cmd::Command| {
        let mut command = command;
        command.args(["cache", "status"]);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    let shown = status(own(place.windlass()));
    assert!(shown.starts_with(&format!("1. {}\n", directory.display())) && shown.contains("  fresh\n"), "{shown}");
    // Without that variable nobody looks there.
    let shown = status(place.windlass());
    assert!(!shown.contains(".cache"), "{shown}");
    let mut clear = own(place.windlass());
    clear.args(["cache", "clear"]).assert().success();
    assert_eq!(stores(&directory), 0);
}

#[test]
fn a_directory_that_may_not_be_written_to_is_said_at_once() {
    let place = Scratch::new();
    let directory = place.path("home/closed");
    std::fs::create_dir(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o555)).unwrap();
    for below in ["", "not/there/yet"] {
        let store = directory.join(below);
        let expected = format!("windlass: cannot write to {}: Permission denied\n  help: ", store.display());
        place.compile().arg("--store").arg(&store).assert().code(1).stdout("").stderr(contains(expected));
    }
    // Checking writes nothing, so it may be done.
    place.compile().arg("--check").arg("--store").arg(&directory).assert().code(5);
}

#[test]
fn a_source_that_may_not_be_read_is_3() {
    let place = Scratch::new();
    std::fs::set_permissions(place.path("bundle.pem"), std::fs::Permissions::from_mode(0o000)).unwrap();
    place
        .compile()
        .arg("--store")
        .arg(place.path("home/stores"))
        .assert()
        .code(3)
        .stderr(contains("Permission denied"));
}

/// Root believes root only; a user believes root and itself.
#[test]
fn who_believes_whom() {
    if !is_root() {
        return;
    }
    let place = Scratch::new();
    let state = |place: &Scratch, store: &Path| {
        let output =
            place.windlass().env("WINDLASS_STORE", store).args(["cache", "status", "--json"]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        status["directories"][0]["stores"][0]["state"].as_str().unwrap().to_owned()
    };
    let roots = place.path("roots");
    let (report, status) = json_of(&roots, &["compile".as_ref(), place.path("bundle.pem").as_os_str()]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(state(&place, &roots), "fresh");

    let users = place.path("home/users");
    place.compile().arg("--store").arg(&users).assert().success();
    assert_eq!(state(&place, &users), "fresh");
    let (status, _) = json_of(&users, &["cache".as_ref(), "status".as_ref()]);
    assert_eq!(status["directories"][0]["state"], "distrusted", "{status:#}");
    let why = format!("belongs to user {USER}, not to root");
    assert!(status["directories"][0]["detail"].as_str().unwrap().contains(&why), "{status:#}");
    // Root does not write there either: nobody could rely on it.
    let mut command = common::windlass();
    command.arg("compile").arg("--store").arg(&users).arg(place.path("bundle.pem"));
    command.assert().code(1).stderr(contains(why));

    // A file of another user, in a directory of one's own.
    let file = std::fs::read_dir(&users).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some()).unwrap();
    chown(&file, Some(USER - 1), None).unwrap();
    assert_eq!(state(&place, &users), "distrusted");
}

/// `compile --check` and `cache status` say the same of a compiled store, to root and to a user.
#[test]
fn checking_and_looking_agree() {
    if !is_root() {
        return;
    }
    let place = Scratch::new();
    let (roots, source) = (place.path("roots"), place.path("bundle.pem"));
    assert_eq!(json_of(&roots, &["compile".as_ref(), source.as_os_str()]).1, 0);
    let of_user = |arguments: &[&std::ffi::OsStr]| -> serde_json::Value {
        let mut command = place.windlass();
        let output = command.env("WINDLASS_STORE", &roots).args(arguments).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let looked = of_user(&["cache".as_ref(), "status".as_ref()]);
    let checked = of_user(&["compile".as_ref(), "--check".as_ref(), source.as_os_str()]);
    assert_eq!(looked["directories"][0]["stores"][0]["state"], "fresh");
    assert_eq!(checked["sources"][0]["state"], "fresh");
    assert_eq!(checked["sources"][0]["store"], looked["directories"][0]["stores"][0]["file"]);
}

/// In a mount namespace, so that this machine's own directory stays as it is.
#[test]
fn roots_stores_are_the_machines() {
    let unshare = |line: &str| {
        let mut command = std::process::Command::new("unshare");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/no/such/home");
        command.args(["--mount", "sh", "-ec", &format!("mount -t tmpfs -o mode=755 none /var/cache; {line}")]);
        command.output().unwrap()
    };
    if !is_root() || !unshare("true").status.success() {
        return;
    }
    let place = Scratch::new();
    let windlass = place.path("windlass");
    let compile = format!("{0} compile {1}; {0} cache status", windlass.display(), place.path("bundle.pem").display());
    let user = format!("setpriv --reuid {USER} --regid {USER} --clear-groups {} cache status", windlass.display());
    let output =
        unshare(&format!("{compile}; stat -c '%U %a' /var/cache/windlass; {user}; {} cache clear", windlass.display()));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("/var/cache/windlass (compiled stores"), "{text}");
    // Root and the user look there first, and believe it.
    assert_eq!(text.matches("1. /var/cache/windlass\n").count(), 2, "{text}");
    assert_eq!(text.matches("  fresh\n").count(), 2, "{text}");
    assert!(text.contains("\nroot 755\n") && text.contains("\nremoved /var/cache/windlass/"), "{text}");
    // Whoever can change a directory on the way, or the file, could put another compiled store there. Root's own was
    // just as good before.
    let link = "mv /var/cache/windlass /var/cache/real; ln -s real /var/cache/windlass";
    for (change, why) in [
        ("chmod o+w /var/cache", "/var/cache: others may write to it (mode 0757)".to_owned()),
        (&format!("chown {USER} /var/cache"), format!("/var/cache: belongs to user {USER}, not to root")),
        (&format!("chown {USER} /var/cache/windlass"), format!("belongs to user {USER}, not to root")),
        (&format!("chown {USER} /var/cache/windlass/*.store"), format!("belongs to user {USER}, not to root")),
        (link, "not a regular file".to_owned()),
    ] {
        let output = unshare(&format!("{compile} >/dev/null; {change}; {user}"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(&why) && !text.contains("  fresh\n"), "{change}: {text}");
    }
}
