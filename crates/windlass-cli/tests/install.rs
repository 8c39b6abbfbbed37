//! `windlass install` and `windlass uninstall` as a command: what it shows, asks and ends with. What they do to a file
//! system is tested after each single change in src/install/tests.rs, and with a package in a minimal system in
//! tests/packaging.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{std_windlass, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

const HOOK: &str = "etc/ca-certificates/update.d/windlass";

/// The same with a command of its own, which need not be copied: quicker for tests that do it often.
fn image_with_command() -> tempfile::TempDir {
    let image = image();
    fs::create_dir(image.path().join("usr/bin")).unwrap();
    fs::write(image.path().join("usr/bin/windlass"), "").unwrap();
    image
}

/// The root of an image with a trust store, a place for hooks, and systemd.
fn image() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for directory in
        ["etc/ca-certificates/update.d", "etc/ssl/certs", "etc/systemd/system", "usr/lib/systemd", "usr/local", "var"]
    {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    fs::write(root.path().join("usr/lib/systemd/systemd"), "").unwrap();
    fs::create_dir(root.path().join("lib64")).unwrap();
    fs::copy(common::old_libc(), root.path().join("lib64/libc.so.6")).unwrap();
    fs::copy(common::fixture("rsa.pem"), root.path().join("etc/ssl/certs/ca-certificates.crt")).unwrap();
    root
}

fn snapshot(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = match () {
            () if metadata.is_symlink() => format!("-> {}", fs::read_link(&path).unwrap().display()),
            () if metadata.is_dir() => {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                String::new()
            }
            () => format!("{:?}", fs::read(&path).unwrap()),
        };
        all.insert(path, format!("{:o} {content}", metadata.mode()));
    }
    all
}

fn install(root: &Path, arguments: &[&str]) -> assert_cmd::assert::Assert {
    windlass().arg("install").arg("--root").arg(root).args(arguments).assert()
}

fn uninstall(root: &Path, arguments: &[&str]) -> assert_cmd::assert::Assert {
    windlass().arg("uninstall").arg("--root").arg(root).args(arguments).assert()
}

fn json(assert: &assert_cmd::assert::Assert) -> Value {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

#[test]
fn a_dry_run_shows_the_plan_and_does_nothing() {
    let image = image_with_command();
    let before = snapshot(image.path());
    let outside = image.path().canonicalize().unwrap().join(HOOK);
    let shown =
        contains(format!("/{HOOK} (here: {})\n     create\n     why: compiles the trust store", outside.display()));
    install(image.path(), &["--dry-run"]).success().stdout(shown).stderr("");
    let plan = json(&install(image.path(), &["--dry-run", "--json"]).success());
    assert_eq!((plan["schema"].as_u64(), plan["dry_run"].as_bool()), (Some(1), Some(true)));
    let steps = plan["steps"].as_array().unwrap();
    let hook = steps.iter().find(|step| step["path"] == format!("/{HOOK}")).unwrap();
    assert_eq!((&hook["target"], &hook["to_do"]), (&Value::from("upkeep"), &Value::from(true)));
    assert_eq!(snapshot(image.path()), before);
    uninstall(image.path(), &["--dry-run"]).success().stdout(contains("no installation is recorded"));
    assert_eq!(snapshot(image.path()), before);
}

#[test]
fn what_is_installed_is_removed_to_the_byte() {
    let image = image();
    let before = snapshot(image.path());
    let undo = format!("Done. `windlass uninstall --root {}` undoes it.", image.path().display());
    install(image.path(), &["--yes"]).success().stdout(contains("To do in the image ").and(contains(undo)));
    let hook = fs::read_to_string(image.path().join(HOOK)).unwrap();
    assert!(hook.contains("/usr/local/bin/windlass compile") && !hook.contains("/usr/bin/windlass"), "{hook}");
    assert_eq!(fs::metadata(image.path().join(HOOK)).unwrap().mode() & 0o7777, 0o755);
    assert!(image.path().join("etc/systemd/system/paths.target.wants/windlass-compile.path").is_symlink());
    assert!(fs::read_dir(image.path().join("var/cache/windlass")).unwrap().count() > 0, "a first compiled store");
    install(image.path(), &[]).success().stdout(contains("Nothing to do").and(contains("Done.").not()));
    let removal = json(&uninstall(image.path(), &["--dry-run", "--json"]).success());
    assert!(
        removal["steps"].as_array().unwrap().iter().any(|step| step["path"] == "/usr/local/bin/windlass"),
        "{removal}"
    );
    uninstall(image.path(), &["--yes"]).success().stderr("");
    assert_eq!(snapshot(image.path()), before);
    uninstall(image.path(), &[]).success().stdout(contains("Nothing to do"));
    assert_eq!(json(&uninstall(image.path(), &["--json"]).success())["steps"].as_array().unwrap().len(), 0);
}

/// Where nobody can be asked, nothing is done without --yes.
#[test]
fn without_a_terminal_consent_has_to_be_given() {
    let image = image_with_command();
    let before = snapshot(image.path());
    let to_say = "to carry out this plan: windlass install --yes";
    let refused = contains("can't ask for confirmation, so nothing was done: standard input is not a terminal")
        .and(contains(to_say));
    install(image.path(), &[]).code(1).stdout(contains("To do in the image")).stderr(refused);
    let refused =
        contains("can't ask for confirmation, so nothing was done: --json leaves no room").and(contains(to_say));
    json(&install(image.path(), &["--json"]).code(1).stderr(refused));
    assert_eq!(snapshot(image.path()), before);

    json(&install(image.path(), &["--json", "--yes"]).success());
    let installed = snapshot(image.path());
    let to_say = "to carry out this plan: windlass uninstall --yes";
    uninstall(image.path(), &[]).code(1).stdout(contains("To do in the image")).stderr(contains(to_say));
    json(&uninstall(image.path(), &["--json"]).code(1).stderr(contains(to_say)));
    assert_eq!(snapshot(image.path()), installed);
    json(&uninstall(image.path(), &["--json", "--yes"]).success());
    assert_eq!(snapshot(image.path()), before);
}

#[test]
fn on_a_terminal_there_is_a_question() {
    let image = image_with_command();
    let before = snapshot(image.path());
    for (answer, agrees) in [("", false), ("n", false), ("yes", true), ("Y", true)] {
        let command = format!("{} install --root '{}'", env!("CARGO_BIN_EXE_windlass"), image.path().display());
        let mut script = std::process::Command::new("script");
        common::clean_environment(&mut script);
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(script.stdin.as_mut().unwrap(), format!("{answer}\n").as_bytes()).unwrap();
        let output = script.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("Go ahead? [y/N]") && said.contains("Done.") == agrees, "{answer}: {said}");
        assert_eq!((output.status.success(), snapshot(image.path()) != before), (agrees, agrees), "{answer}: {said}");
        uninstall(image.path(), &["--yes"]).success();
    }
}

/// Told by the files alone: without root, without running anything, and before anything is done.
#[test]
fn a_library_that_programs_there_could_not_load_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let newer = directory.path().join("newer.so");
    // gettid is there since glibc 2.30, and what image() has is of 2.17.
    common::compile("int gettid(void); int f(void) { return gettid(); }", &newer, &["-shared", "-fPIC"]);
    let refused = |image: &tempfile::TempDir, library: &Path, why: &str| {
        let before = snapshot(image.path());
        for arguments in
            [&["--machine", "--no-try", "--yes"][..], &["--machine", "--dry-run"], &["--service", "web", "--yes"]]
        {
            let mut command = windlass();
            command.env("WINDLASS_PRELOAD_LIBRARY", library).arg("install").arg("--root").arg(image.path());
            command.args(arguments).assert().code(1).stderr(contains("can't use the library").and(contains(why)));
        }
        assert_eq!(snapshot(image.path()), before);
        // What loads nothing needs no library.
        install(image.path(), &["--dry-run"]).success();
    };
    let unit = |image: &tempfile::TempDir| {
        fs::write(image.path().join("etc/systemd/system/web.service"), "[Service]\nExecStart=/bin/true\n").unwrap();
    };
    let old = image();
    unit(&old);
    refused(&old, &newer, "it needs GLIBC_2.30 of libc.so.6, and /lib64/libc.so.6");
    refused(&old, &newer, "has none, whose newest is GLIBC_2.17");
    let libc = old.path().join("lib64/libc.so.6");
    let mut other = fs::read(&libc).unwrap();
    // e_machine: EM_S390
    other[18..20].copy_from_slice(&22_u16.to_ne_bytes());
    fs::write(&libc, other).unwrap();
    refused(&old, common::stand_in(), "is for 64-bit s390");
    fs::remove_file(&libc).unwrap();
    refused(&old, common::stand_in(), "it needs libc.so.6, which is not in the root");
    fs::create_dir(old.path().join("lib")).unwrap();
    fs::write(old.path().join("lib/ld-musl-x86_64.so.1"), "").unwrap();
    refused(&old, common::stand_in(), "the C library there is musl (/lib/ld-musl-x86_64.so.1");
}

/// docs/install.md, "Programs that it is not for".
#[test]
fn programs_that_it_is_not_for_are_named() {
    let image = image_with_command();
    fs::write(image.path().join("etc/systemd/system/web.service"), "[Service]\nExecStart=/bin/true\n").unwrap();
    let notes = |option: &[&str]| {
        let plan = json(&install(image.path(), &[option, &["--dry-run", "--json"]].concat()).success());
        plan["notes"].to_string()
    };
    let service = ["--service", "web"];
    let names = ["ld-musl-x86_64.so.1", "ld-linux.so.2", "AddressSanitizer"];
    let named = |option: &[&str]| names.map(|name| notes(option).contains(name));
    assert_eq!(named(&service), [false; 3]);
    fs::create_dir(image.path().join("lib")).unwrap();
    fs::write(image.path().join("lib/ld-musl-x86_64.so.1"), "").unwrap();
    fs::write(image.path().join("lib64/libasan.so.8"), "").unwrap();
    assert_eq!(named(&service), [true, false, true]);
    // musl's loader reads no list, and beside programs of another architecture there is no activation for the machine.
    assert_eq!(named(&["--machine"]), [false, false, true]);
    fs::write(image.path().join("lib/ld-linux.so.2"), "").unwrap();
    assert_eq!(named(&service), [true; 3]);
    assert_eq!(named(&[]), [false; 3]);
}

/// systemd.exec(5): UnsetEnvironment is "applied as the final step", whatever a drop-in sets.
#[test]
fn a_service_whose_environment_is_taken_away_is_refused() {
    let image = image_with_command();
    let write = |path: &str, text: &str| {
        let path = image.path().join("etc/systemd/system").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("[Service]\n{text}")).unwrap();
    };
    let plan = || install(image.path(), &["--service", "web", "--dry-run"]);
    let unseen = "which systemd applies last: the service would never see the library";
    for (unit, later) in [
        ("UnsetEnvironment=LD_PRELOAD\n", "\n"),
        ("UnsetEnvironment=A LD_PRELOAD\n", "\n"),
        ("\n", "UnsetEnvironment=LD_PRELOAD\n"),
    ] {
        write("web.service", &format!("ExecStart=/bin/true\n{unit}"));
        write("web.service.d/zz.conf", later);
        plan().code(1).stderr(contains(unseen));
        write("web.service.d/aa.conf", "Environment=LD_PRELOAD=/opt/x.so\n");
        plan().code(1).stderr(contains(unseen));
        fs::remove_file(image.path().join("etc/systemd/system/web.service.d/aa.conf")).unwrap();
    }
    // Taken back, or about something else.
    write("web.service.d/zz.conf", "UnsetEnvironment=\n");
    for unit in [
        "UnsetEnvironment=LD_PRELOAD\n",
        "UnsetEnvironment=LD_PRELOAD_X A\n",
        "UnsetEnvironment=LD_PRELOAD=/other.so\n",
    ] {
        write("web.service", &format!("ExecStart=/bin/true\n{unit}"));
        plan().success().stdout(contains("web.service.d/windlass.conf").and(contains("/opt/x.so").not()));
    }
    // Only this value is taken away: the service never saw it, and must not see it behind the library.
    fs::remove_file(image.path().join("etc/systemd/system/web.service.d/zz.conf")).unwrap();
    write("web.service", "Environment=LD_PRELOAD=/opt/x.so\nUnsetEnvironment=LD_PRELOAD=/opt/x.so\n");
    plan().success().stdout(contains("web.service.d/windlass.conf").and(contains("/opt/x.so").not()));
}

/// What is meant is said: a path of the image is not one of this machine.
#[test]
fn errors_in_an_image_say_so() {
    let image = image_with_command();
    fs::create_dir_all(image.path().join("lib")).unwrap();
    fs::write(image.path().join("lib/ld-linux.so.2"), "").unwrap();
    let root = image.path().canonicalize().unwrap();
    let said = format!(
        "  help: this is about the image {0}: paths that begin with this directory are as seen from this \
         machine, all others as seen inside the image\n",
        root.display()
    );
    install(image.path(), &["--machine", "--yes"])
        .code(1)
        .stderr(contains("/lib/ld-linux.so.2 is installed").and(contains(said)));
}

#[test]
fn the_umask_does_not_matter() {
    let image = image();
    let script =
        format!("umask 077; {} install --yes --root {}", env!("CARGO_BIN_EXE_windlass"), image.path().display());
    assert!(std::process::Command::new("sh").arg("-c").arg(script).stdout(Stdio::null()).status().unwrap().success());
    for path in ["usr/local/bin", "usr/local/bin/windlass", HOOK, "var/lib/windlass", "var/cache/windlass"] {
        assert_eq!(fs::metadata(image.path().join(path)).unwrap().mode() & 0o005, 0o005, "{path}");
    }
}

#[test]
fn links_do_not_lead_out_of_the_image() {
    let image = image_with_command();
    let outside = tempfile::tempdir().unwrap();
    fs::remove_dir(image.path().join("etc/systemd/system")).unwrap();
    symlink(outside.path(), image.path().join("etc/systemd/system")).unwrap();
    let inside = image.path().join(outside.path().strip_prefix("/").unwrap());
    // Shown is where it goes, by both of its names.
    let units = "/etc/systemd/system/windlass-compile.path";
    let real =
        image.path().canonicalize().unwrap().join(outside.path().canonicalize().unwrap().strip_prefix("/").unwrap());
    let shown = format!("{units} (here: {}/windlass-compile.path)", real.display());
    install(image.path(), &["--yes"]).success().stdout(contains(shown));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(inside.join("windlass-compile.path").is_file());
    uninstall(image.path(), &["--yes"]).success();
    assert!(!inside.exists());
}

#[test]
fn a_users_shell_is_activated_and_back() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".profile"), "umask 022").unwrap();
    let before = snapshot(home.path());
    let command = |arguments: &[&str]| {
        let mut command = windlass();
        command.env("HOME", home.path()).env("SHELL", "/bin/sh").args(arguments);
        command.assert()
    };
    // For root, `windlass uninstall` alone concerns the machine.
    let undo = "Done. `windlass uninstall --shell` undoes it.";
    command(&["install", "--shell", "--yes"]).success().stdout(contains(".profile").and(contains(undo)));
    let profile = fs::read_to_string(home.path().join(".profile")).unwrap();
    assert!(
        profile.starts_with("umask 022\n# >>> windlass >>>") && profile.ends_with("# <<< windlass <<<\n"),
        "{profile}"
    );
    let own = home.path().join(".local/lib/windlass/libwindlass_preload.so");
    assert_eq!(fs::read(&own).unwrap(), fs::read(common::stand_in()).unwrap());
    let said = std::process::Command::new("sh")
        .args(["-c", ". ~/.profile; echo $LD_PRELOAD"])
        .env("HOME", home.path())
        .output();
    assert_eq!(String::from_utf8(said.unwrap().stdout).unwrap().trim(), own.to_str().unwrap());
    command(&["install", "--shell"]).success().stdout(contains("Nothing to do"));
    command(&["uninstall", "--shell", "--yes"]).success();
    assert_eq!(snapshot(home.path()), before);
    command(&["install", "--shell=tcsh"]).code(2).stderr(contains("not a shell that windlass knows"));
    windlass().args(["install", "--shell"]).assert().code(1).stderr(contains("HOME is not set"));
}

/// What concerns the machine and what concerns the user are recorded apart, and yet are one plan to whoever reads it.
#[test]
fn the_json_of_several_places_is_one_document() {
    let home = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = windlass();
        command.env("HOME", home.path()).env("SHELL", "/bin/sh").args(arguments);
        command.assert()
    };
    let targets = |plan: &Value| -> Vec<String> {
        plan["steps"].as_array().unwrap().iter().map(|step| step["target"].to_string()).collect()
    };
    let planned = command(&["install", "--machine", "--shell", "--dry-run", "--json"]);
    // A machine that has programs of another architecture has no such plan.
    if !Path::new("/lib/ld-linux.so.2").exists() {
        let plan = json(&planned.success());
        let targets = targets(&plan);
        assert_eq!((plan["root"].as_str(), plan["notes"].is_array()), (Some("/"), true), "{plan}");
        assert!(targets.contains(&"\"machine\"".into()) && targets.contains(&"\"shell\"".into()), "{targets:?}");
    }
    command(&["install", "--shell", "--yes"]).success();
    let removal = json(&command(&["uninstall", "--machine", "--shell", "--dry-run", "--json"]).success());
    assert!(targets(&removal).contains(&"\"shell\"".into()), "{removal}");
}

/// A command that was copied out of a build tree finds what it was built with.
#[test]
fn the_copied_command_traces() {
    let image = image();
    let build = tempfile::tempdir().unwrap();
    for name in ["libwindlass_preload.so", "libwindlass_trace.so"] {
        fs::copy(common::stand_in(), build.path().join(name)).unwrap();
    }
    let mut install = windlass();
    install.env("WINDLASS_PRELOAD_LIBRARY", build.path().join("libwindlass_preload.so"));
    install.args(["install", "--machine", "--no-try", "--yes", "--root"]).arg(image.path()).assert().success();
    let trace = || {
        let mut command = std::process::Command::new(image.path().join("usr/local/bin/windlass"));
        let output = command.env_clear().args(["trace", "--", "/bin/true"]).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!trace().contains("not found"), "{}", trace());
    fs::remove_file(image.path().join("usr/local/lib/windlass/libwindlass_trace.so")).unwrap();
    assert!(trace().contains("the tracing library was not found"), "{}", trace());
    uninstall(image.path(), &["--yes"]).success();
    assert!(!image.path().join("usr/local/lib").exists());
}

/// HOME of whoever runs sudo(8) without -H is not root's, and its record would be carried out with root's rights.
#[test]
fn a_home_of_another_user_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let in_home =
        |arguments: &[&str]| windlass().env("HOME", home.path()).env("SHELL", "/bin/sh").args(arguments).assert();
    in_home(&["install", "--shell", "--yes"]).success();
    let installed = snapshot(home.path());
    if common::is_root() {
        in_home(&["uninstall", "--dry-run"]).success().stdout(contains(".profile").not());
        std::os::unix::fs::chown(home.path(), Some(4321), None).unwrap();
        for command in ["install", "uninstall"] {
            in_home(&[command, "--shell", "--yes"]).code(1).stderr(contains("does not lead to a directory of yours"));
        }
        assert_eq!(snapshot(home.path()), installed);
    } else {
        in_home(&["uninstall", "--dry-run"]).success().stdout(contains(".profile"));
    }
}

#[test]
fn what_is_outside_of_home_is_not_changed() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (shell, variable) in [("fish", "XDG_CONFIG_HOME"), ("zsh", "ZDOTDIR")] {
        let mut command = windlass();
        command.env("HOME", home.path()).env(variable, elsewhere.path());
        command.args(["install", &format!("--shell={shell}"), "--yes"]);
        command.assert().code(1).stderr(contains("it is not below HOME"));
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

/// The very end of a removal that was killed is a change as well: it is shown, and nothing is done without consent.
#[test]
fn what_a_killed_command_left_is_shown_first() {
    let image = image();
    let before = snapshot(image.path());
    fs::create_dir_all(image.path().join("var/.windlass-new-lib/windlass")).unwrap();
    fs::write(image.path().join("var/.windlass-new-lib/windlass/lock"), "").unwrap();
    let left = snapshot(image.path());
    uninstall(image.path(), &["--dry-run"]).success().stdout(contains("var/.windlass-new-lib"));
    assert_eq!(snapshot(image.path()), left);
    uninstall(image.path(), &["--yes"]).success();
    assert_eq!(snapshot(image.path()), before);
}

#[test]
fn compiled_stores_of_before_stay_and_the_plan_says_so() {
    let says_so = || contains("Note: the compiled stores in /var/cache/windlass").and(contains("so they stay"));
    let image = image_with_command();
    let stores = image.path().join("var/cache/windlass");
    fs::create_dir_all(&stores).unwrap();
    install(image.path(), &["--yes"]).success();
    assert!(fs::read_dir(&stores).unwrap().count() > 0);
    uninstall(image.path(), &["--dry-run"]).success().stdout(says_so());
    uninstall(image.path(), &["--yes"]).success().stdout(says_so());
    assert!(fs::read_dir(&stores).unwrap().count() > 0);
    // Those of the installation go with it.
    let image = image_with_command();
    install(image.path(), &["--yes"]).success();
    uninstall(image.path(), &["--yes"]).success().stdout(says_so().not());
    assert!(!image.path().join("var/cache/windlass").exists());
}

#[test]
fn a_wrong_command_line_is_2_and_a_wrong_root_is_1() {
    windlass().args(["install", "--shell", "--root", "/"]).assert().code(2);
    install(Path::new("/nonexistent"), &[]).code(1).stderr(contains("root directory /nonexistent: No such file"));
    let image = image();
    install(image.path(), &["--service", "nginx"]).code(1).stderr(contains("there is no such unit"));
    install(image.path(), &["--service", "cron.timer"]).code(2).stderr(contains("a timer unit runs no program"));
    install(image.path(), &["--service", "../x"]).code(2).stderr(contains("not the name of a systemd service"));
}

#[test]
fn a_record_that_cannot_be_understood_stops_everything() {
    let image = image_with_command();
    install(image.path(), &["--yes"]).success();
    let record = image.path().join("var/lib/windlass/install.json");
    let text = fs::read_to_string(&record).unwrap();
    for damaged in [&text[..text.len() / 2], &text.replacen("\"schema\": 1", "\"schema\": 2", 1)] {
        fs::write(&record, damaged).unwrap();
        let before = snapshot(image.path());
        install(image.path(), &["--yes"]).code(1).stderr(contains("the record "));
        uninstall(image.path(), &["--yes"]).code(1).stderr(contains("the record "));
        assert_eq!(snapshot(image.path()), before);
    }
}

/// The real thing beside the simulation of src/install/tests.rs: kill -9, at moments spread over a whole run.
#[test]
fn killed_runs_are_undone() {
    let image = image_with_command();
    let before = snapshot(image.path());
    let run = |command: &str, killed_after: Option<Duration>| {
        let mut child = std_windlass();
        child.args([command, "--yes", "--root"]).arg(image.path()).stdout(Stdio::null());
        let mut child = child.process_group(0).spawn().unwrap();
        if let Some(moment) = killed_after {
            std::thread::sleep(moment);
            let _ = child.kill();
        }
        let done = child.wait().unwrap().success();
        // What it has started goes on: it compiles, and before it executes its program it has the lock.
        common::wait_for_group(child.id());
        done
    };
    let start = Instant::now();
    assert!(run("install", None));
    let whole = start.elapsed();
    assert!(run("uninstall", None));
    let mut killed = 0;
    // When a run is killed is the scheduler's choice: more rounds until it was before the end of one.
    for round in 0..600 {
        if round >= 12 && killed > 0 {
            break;
        }
        killed += u32::from(!run("install", Some(whole * (round % 12) / 12)));
        if round % 2 == 1 {
            assert!(run("install", None), "completed");
            killed += u32::from(!run("uninstall", Some(whole * (round % 12) / 48)));
        }
        assert!(run("uninstall", None), "round {round}");
        assert_eq!(snapshot(image.path()), before, "round {round}");
    }
    assert!(killed > 0, "no run was killed before its end");
}
