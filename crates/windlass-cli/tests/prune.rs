//! `windlass prune` as a command: what it shows, asks and ends with, and what OpenSSL finds afterwards. What it does to
//! a file system is tested after each single change in src/prune/tests.rs.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{assert_documented, fixture, std_windlass, windlass};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// The command with a directory of backups of its own.
    fn prune(&self, arguments: &[&str]) -> assert_cmd::assert::Assert {
        windlass().arg("prune").arg("--backups").arg(self.path("backups")).args(arguments).assert()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let assert = self.prune(&[&["--json"], arguments].concat()).success();
        serde_json::from_slice(&assert.get_output().stdout).unwrap()
    }
}

fn openssl(arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).output().expect("openssl");
    assert!(output.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Type, mode, time and content of all in a directory.
fn state(directory: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| {
        let metadata = path.symlink_metadata().unwrap();
        let link = fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes());
        let content = link.or_else(|_| fs::read(&path)).unwrap();
        (path, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content))
    };
    entries.map(of).collect()
}

/// A hashed directory with one expired certificate and two that are valid.
fn hashed(scene: &Scene) -> PathBuf {
    let store = scene.path("certs");
    fs::create_dir(&store).unwrap();
    for name in ["expired.pem", "rsa.pem", "p384.pem"] {
        fs::copy(fixture(name), store.join(name)).unwrap();
    }
    openssl(&["rehash", store.to_str().unwrap()]);
    store
}

#[test]
fn the_plan_is_shown_and_nothing_done_without_consent() {
    let scene = Scene::new();
    let store = hashed(&scene);
    let before = state(&store);
    let text = store.to_str().unwrap();
    let row = contains("43aeb4b8.0   Expired Root  expired on 2010-01-01");
    let head = contains(format!("{text} (hashed directory): 2 to go, 2 certificates stay\n"));
    scene.prune(&["--dry-run", text]).success().stderr("").stdout(head.and(row).and(contains("Go ahead?").not()));
    let refused = contains("can't ask for confirmation, so nothing was done: standard input is not a terminal")
        .and(contains("windlass prune --yes, with the same options"));
    scene.prune(&[text]).code(1).stderr(refused);
    scene.prune(&["--json", text]).code(1).stderr(contains("--json leaves no room for a question"));
    assert!(state(&store) == before && !scene.path("backups").exists());
    scene.prune(&["--undo"]).success().stdout("Nothing to undo: there is no backup.\n");
    scene.prune(&["--undo=none"]).code(1).stderr(contains("no such backup"));
    scene.prune(&["--list"]).success().stdout(contains("No backups in "));
    scene.prune(&["--undo", "--list"]).code(2);
    scene.prune(&[scene.path("nowhere").to_str().unwrap()]).code(3).stderr(contains("can't use "));
}

#[test]
fn what_goes_comes_back() {
    let scene = Scene::new();
    let store = hashed(&scene);
    let before = state(&store);
    let text = store.to_str().unwrap();
    scene.prune(&["--yes", text]).success().stderr("").stdout(contains("Done: 2 moved to ").and(contains("--undo=")));
    assert_eq!(state(&store).len(), 4);
    scene.prune(&["--yes", text]).success().stdout("Nothing to do: nothing in the one directory is superfluous.\n");
    let list = scene.json(&["--list"]);
    let backup = &list["backups"][0];
    assert_eq!((backup["finished"].as_bool(), backup["entries"].as_array().unwrap().len()), (Some(true), 2));
    assert_eq!(backup["entries"][1]["name"], "expired.pem");
    let name = backup["name"].as_str().unwrap();
    let undo = scene.json(&["--dry-run", &format!("--undo={name}")]);
    assert_eq!((undo["backup"].as_str(), undo["steps"][0]["what"].as_str()), (Some(name), Some("put back")));
    let help = ["prune"];
    assert_documented(
        &help,
        &[&list, backup, &backup["entries"][0], &backup["entries"][0]["seen"], &undo, &undo["steps"][0]],
    );
    scene.prune(&["--undo"]).code(1).stderr(contains("windlass prune --undo --yes"));
    scene.prune(&["--undo", "--yes"]).success().stdout(contains("put back").and(contains("Done.\n")));
    assert_eq!(state(&store), before);
    let plan = scene.json(&["--dry-run", text]);
    assert_eq!((plan["schema"].as_u64(), plan["dry_run"].as_bool()), (Some(1), Some(true)));
    let shown = &plan["stores"][0];
    assert_eq!((shown["kind"].as_str(), shown["kept"].as_u64()), (Some("hashed-directory"), Some(2)));
    assert_documented(&help, &[&plan, shown, &shown["items"][0]]);
}

/// A self-signed authority of that subject and time, and its key.
fn authority(scene: &Scene, subject: &str, name: &str, from: &str, until: &str) -> PathBuf {
    let (certificate, key) = (scene.path(&format!("{name}.pem")), scene.path(&format!("{name}.key")));
    let (index, configuration) = (scene.path(&format!("{name}.index")), scene.path(&format!("{name}.cnf")));
    fs::write(&index, "").unwrap();
    let text = format!(
        "[ca]\ndefault_ca=d\n[d]\ndatabase={}\nnew_certs_dir={}\nrand_serial=yes\ndefault_md=sha256\n\
         policy=p\nunique_subject=no\n\
         x509_extensions=e\n[p]\ncommonName=supplied\n[e]\nbasicConstraints=critical,CA:true\n",
        index.display(),
        scene.path("").display()
    );
    fs::write(&configuration, text).unwrap();
    let request = scene.path("request");
    let (request, key, certificate_text) =
        (request.to_str().unwrap(), key.to_str().unwrap(), certificate.to_str().unwrap());
    let new = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject];
    openssl(&[&new[..], &["-keyout", key, "-out", request]].concat());
    let sign = ["ca", "-batch", "-notext", "-selfsign", "-config", configuration.to_str().unwrap(), "-keyfile", key];
    openssl(&[&sign[..], &["-in", request, "-startdate", from, "-enddate", until, "-out", certificate_text]].concat());
    certificate
}

/// What a person at a terminal is told who does not agree.
#[test]
fn who_does_not_agree_is_told_that_nothing_was_done() {
    let scene = Scene::new();
    let store = hashed(&scene);
    let before = state(&store);
    for answer in ["n\n", "maybe\n", "\n", "\u{4}"] {
        // A terminal for both streams (util-linux); the answer is typed into it.
        let line = format!(
            "'{}' prune --backups '{}' '{}'",
            env!("CARGO_BIN_EXE_windlass"),
            scene.path("backups").display(),
            store.display()
        );
        let mut terminal = assert_cmd::Command::new("script");
        terminal.args(["-qec", &line, "/dev/null"]).write_stdin(answer);
        terminal
            .assert()
            .code(1)
            .stdout(contains("Go ahead? [y/N] ").and(predicate::str::ends_with("Nothing was done.\r\n")));
        assert!(state(&store) == before && !scene.path("backups").exists(), "{answer:?}");
    }
}

/// An image whose hashed directory has absolute links, as Debian's.
fn image(scene: &Scene) -> (PathBuf, PathBuf) {
    let image = scene.path("image");
    let (store, own) = (image.join("etc/ssl/certs"), image.join("opt/anchors"));
    for directory in [&store, &own] {
        fs::create_dir_all(directory).unwrap();
    }
    fs::create_dir_all(image.join("usr/lib/ssl")).unwrap();
    symlink("/etc/ssl/certs", image.join("usr/lib/ssl/certs")).unwrap();
    for (number, name) in ["rsa.pem", "p384.pem"].into_iter().enumerate() {
        fs::copy(fixture(name), own.join(name)).unwrap();
        symlink(format!("/opt/anchors/{name}"), store.join(name)).unwrap();
        symlink(name, store.join(format!("0000000{number}.0"))).unwrap();
    }
    fs::copy(fixture("expired.pem"), store.join("expired.pem")).unwrap();
    symlink("expired.pem", store.join("43aeb4b8.0")).unwrap();
    // There on this machine only.
    symlink(fixture("rsa.pem"), store.join("00000002.0")).unwrap();
    (image, store)
}

#[test]
fn links_of_an_image_are_followed_in_it() {
    let scene = Scene::new();
    let (image, store) = image(&scene);
    let before = state(&store);
    let (image, text) = (image.to_str().unwrap(), store.to_str().unwrap());
    let expected = ["00000002.0", "43aeb4b8.0", "expired.pem"];
    // By default OpenSSL's directories, whoever asks; else paths of the image, links and all.
    for paths in [&[][..], &["/etc/ssl/certs"], &["usr/lib/ssl/certs/"]] {
        let plan = scene.json(&[&["--dry-run", "--root", image], paths].concat());
        let planned = &plan["stores"][0];
        let names: Vec<_> = planned["items"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect();
        assert_eq!((names, &planned["path"]), (expected.map(Value::from).to_vec(), &Value::from(text)), "{plan}");
        assert_eq!((planned["kept"].as_u64(), plan["stores"].as_array().unwrap().len()), (Some(2), 1));
    }
    scene.prune(&["--yes", "--root", image]).success().stdout(contains("3 to go, 2 certificates stay"));
    assert_eq!(state(&store).len(), 4);
    scene.prune(&["--undo", "--yes"]).success();
    assert_eq!(state(&store), before);
    scene.prune(&["--root", image, text]).code(3).stderr(contains("with --root it is a path in "));
    scene.prune(&["--root", &format!("{text}/expired.pem")]).code(1).stderr(contains("can't use "));
    scene.prune(&["--undo", "--root", image]).code(2);
}

/// The same directory without --root: all that has a hash for a name seems to lead nowhere.
#[test]
fn a_directory_of_which_nothing_would_be_left_stays() {
    let scene = Scene::new();
    let (_, store) = image(&scene);
    for name in ["00000002.0", "43aeb4b8.0"] {
        fs::remove_file(store.join(name)).unwrap();
    }
    // Debian's bundle lies there too, and is no anchor of the directory.
    fs::copy(fixture("rsa.pem"), store.join("ca-certificates.crt")).unwrap();
    let before = state(&store);
    let text = store.to_str().unwrap();
    let note = contains(format!(
        "Note: {text} stays as it is: 4 of its names look superfluous, but no anchor would be left\n"
    ))
    .and(contains("windlass prune --root DIR; if you still want this: --force\n"));
    scene.prune(&["--yes", text]).code(1).stderr("").stdout(note);
    assert!(state(&store) == before && !scene.path("backups").exists());
    // A trial run has the status that the run would have.
    scene.prune(&["--dry-run", text]).code(1).stdout(contains("stays as it is"));
    let trial = scene.prune(&["--dry-run", "--json", text]).code(1);
    let plan: Value = serde_json::from_slice(&trial.get_output().stdout).unwrap();
    assert_eq!(
        (plan["stores"][0]["refused"].as_bool(), plan["stores"][0]["items"].as_array().unwrap().len()),
        (Some(true), 0)
    );
    // Others are pruned meanwhile.
    let other = hashed(&scene);
    scene.prune(&["--yes", text, other.to_str().unwrap()]).code(1).stdout(contains("Done: 2 moved"));
    assert_eq!(state(&store), before);
    scene.prune(&["--yes", "--force", text]).success().stdout(contains("Done: 4 moved"));
    scene.prune(&["--undo", "--yes"]).success();
    assert_eq!(state(&store), before);
}

/// While servers change from one CA of a name to the next, both are needed, whatever the name says.
#[test]
fn valid_authorities_go_only_when_asked_for() {
    let scene = Scene::new();
    let store = hashed(&scene);
    for (name, from) in [("older", "20200101000000Z"), ("newer", "20210101000000Z")] {
        let made = authority(&scene, "/CN=Dev CA", name, from, "20991231235959Z");
        fs::rename(made, store.join(format!("{name}.pem"))).unwrap();
    }
    openssl(&["rehash", store.to_str().unwrap()]);
    let planned = |arguments: &[&str]| {
        let plan = scene.json(&[&["--dry-run", store.to_str().unwrap()], arguments].concat()).to_string();
        ["older.pem", "newer.pem", "expired.pem"].map(|name| plan.contains(name))
    };
    assert_eq!(planned(&[]), [false, false, true]);
    assert_eq!(planned(&["--tests"]), [true, true, true]);
}

/// Both tell .NET and OpenSSL alike which servers to believe, and the name alone does not say which is meant.
#[test]
fn keys_tell_authorities_of_one_name_apart() {
    let scene = Scene::new();
    let stores = scene.path("x509stores");
    let store = stores.join("root");
    fs::create_dir_all(&store).unwrap();
    let identifier = |certificate: &Path| {
        let line = "openssl x509 -pubkey -noout -in \"$0\" | openssl pkey -pubin -outform DER | tail -c 65 | sha1sum";
        let output = Command::new("sh").args(["-c", line]).arg(certificate).output().unwrap();
        String::from_utf8(output.stdout).unwrap()[..40].to_owned()
    };
    let mut keys = Vec::new();
    for (name, from, until) in [
        ("gone", "20000101000000Z", "20100101000000Z"),
        ("older", "20200101000000Z", "20991231235959Z"),
        ("newer", "20210101000000Z", "20991231235959Z"),
    ] {
        let made = authority(&scene, "/CN=Acme Test CA", name, from, until);
        keys.push(identifier(&made));
        pfx(&store.join(format!("{name}.pfx")), &made);
    }
    let short = |number: usize| format!("Acme Test CA (key {})", &keys[number][..12]);
    let mut staying = [short(1), short(2)];
    staying.sort();
    let text = stores.to_str().unwrap();
    let shown = contains(format!("gone.pfx  {}  expired on 2010-01-01\n", short(0)))
        .and(contains(format!("  Of the same name, with another key, stays: {}\n", staying.join(", "))));
    scene.prune(&["--dry-run", text]).success().stdout(shown);
    let plan = scene.json(&["--dry-run", text]);
    let planned = &plan["stores"][0];
    assert_eq!((&planned["items"][0]["key"], planned["items"].as_array().unwrap().len()), (&keys[0].clone().into(), 1));
    assert_documented(&["prune"], &[&planned["namesakes"][0]]);
    let shown = contains(format!("older.pfx  {}  its name says", short(1))).and(contains("Of the same name").not());
    scene.prune(&["--dry-run", "--tests", text]).success().stdout(shown);
    // Alone, the name is enough.
    for name in ["older.pfx", "newer.pfx"] {
        fs::remove_file(store.join(name)).unwrap();
    }
    scene.prune(&["--dry-run", text]).success().stdout(contains("gone.pfx  Acme Test CA  expired"));
}

/// Why two authorities of one name and one key are both needed.
#[test]
fn a_leaf_may_name_the_serial_number_of_its_issuer() {
    let scene = Scene::new();
    let store = scene.path("certs");
    fs::create_dir(&store).unwrap();
    let path = |name: &str| scene.path(name).to_str().unwrap().to_owned();
    let key = path("key");
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key]);
    for (days, name) in [("20", "certs/older.pem"), ("40", "certs/newer.pem")] {
        openssl(&["req", "-x509", "-key", &key, "-subj", "/CN=Acme Test CA", "-days", days, "-out", &path(name)]);
    }
    let (request, leaf, older) = (path("request"), path("leaf.pem"), path("certs/older.pem"));
    openssl(&["req", "-new", "-key", &key, "-subj", "/CN=leaf", "-out", &request]);
    fs::write(path("extensions"), "authorityKeyIdentifier=keyid,issuer:always\n").unwrap();
    let sign = ["x509", "-req", "-in", &request, "-CA", &older, "-CAkey", &key, "-days", "10", "-out", &leaf];
    openssl(&[&sign[..], &["-extfile", &path("extensions")]].concat());
    openssl(&["rehash", store.to_str().unwrap()]);
    let verifies = || {
        let arguments = ["verify", "-no-CAfile", "-no-CAstore", "-CApath", store.to_str().unwrap(), &leaf];
        Command::new("openssl").args(arguments).output().unwrap().status.success()
    };
    assert!(verifies());
    scene.prune(&["--yes", store.to_str().unwrap()]).success().stdout(contains("Nothing to do"));
    assert!(verifies());
    fs::remove_file(&older).unwrap();
    openssl(&["rehash", store.to_str().unwrap()]);
    assert!(!verifies(), "the newer one, of the same name and key, is no issuer of this leaf");
}

/// OpenSSL asks for hash.0, hash.1, … up to the first that is missing: when hash.0 goes, hash.1 has to take its place.
#[test]
fn openssl_still_finds_what_stood_behind() {
    let scene = Scene::new();
    let store = scene.path("certs");
    fs::create_dir(&store).unwrap();
    let old = authority(&scene, "/CN=Shared", "old", "20000101000000Z", "20100101000000Z");
    let new = authority(&scene, "/CN=Shared", "new", "20200101000000Z", "20991231235959Z");
    let leaf = scene.path("leaf.pem");
    let request = scene.path("leaf.csr");
    let new_key = scene.path("new.key");
    let arguments = [
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=leaf",
        "-keyout",
        "/dev/null",
    ];
    openssl(&[&arguments[..], &["-out", request.to_str().unwrap()]].concat());
    let files = [&request, &new, &new_key, &leaf].map(|path| path.to_str().unwrap());
    openssl(&["x509", "-req", "-days", "10", "-in", files[0], "-CA", files[1], "-CAkey", files[2], "-out", files[3]]);
    let hash = Command::new("openssl").args(["x509", "-noout", "-subject_hash", "-in", files[1]]).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap().trim().to_owned();
    for (number, file) in [&old, &new].into_iter().enumerate() {
        let name = format!("authority{number}.pem");
        fs::copy(file, store.join(&name)).unwrap();
        symlink(&name, store.join(format!("{hash}.{number}"))).unwrap();
    }
    let verify = || {
        let mut command = Command::new("openssl");
        command.args(["verify", "-no-CAfile", "-no-CAstore", "-CApath", store.to_str().unwrap(), files[3]]);
        command.output().unwrap().status.success()
    };
    let before = state(&store);
    assert!(verify(), "before");
    // Without closing the row OpenSSL would find nothing: the test can fail.
    fs::rename(store.join(format!("{hash}.0")), scene.path("aside")).unwrap();
    assert!(!verify(), "with a gap");
    fs::rename(scene.path("aside"), store.join(format!("{hash}.0"))).unwrap();

    scene.prune(&["--yes", store.to_str().unwrap()]).success().stdout(contains("2 to go, 1 certificate stays"));
    assert_eq!(fs::read_link(store.join(format!("{hash}.0"))).unwrap(), Path::new("authority1.pem"));
    assert!(!store.join(format!("{hash}.1")).exists() && verify(), "after");
    scene.prune(&["--undo", "--yes"]).success();
    assert!(state(&store) == before && verify(), "undone");
}

fn pfx(path: &Path, certificate: &Path) {
    let (path, certificate) = (path.to_str().unwrap(), certificate.to_str().unwrap());
    openssl(&[
        "pkcs12",
        "-export",
        "-nokeys",
        "-certpbe",
        "PBE-SHA1-3DES",
        "-passout",
        "pass:",
        "-in",
        certificate,
        "-out",
        path,
    ]);
}

#[test]
fn stores_of_dotnet() {
    let scene = Scene::new();
    let stores = scene.path(".dotnet/corefx/cryptography/x509stores");
    for name in ["my", "root"] {
        fs::create_dir_all(stores.join(name)).unwrap();
    }
    let localhost = |name: &str| {
        let file = scene.path(name);
        let new =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null"];
        openssl(&[&new[..], &["-subj", "/CN=localhost", "-days", "30", "-out", file.to_str().unwrap()]].concat());
        file
    };
    pfx(&stores.join("root/A.pfx"), &fixture("rsa.pem"));
    pfx(&stores.join("root/A.1.pfx"), &fixture("rsa.pem"));
    pfx(&stores.join("root/B.pfx"), &fixture("expired.pem"));
    pfx(&stores.join("my/C.pfx"), &localhost("localhost.pem"));
    fs::write(stores.join("my/D.pfx"), "no PKCS#12").unwrap();
    symlink("gone", stores.join("my/E.pfx")).unwrap();
    let before = [state(&stores.join("my")), state(&stores.join("root"))];
    let items = |arguments: &[&str]| {
        let plan = scene.json(&[arguments, &["--dry-run", stores.to_str().unwrap()]].concat());
        let stores = plan["stores"].as_array().unwrap().clone();
        let items = stores.iter().flat_map(|store| store["items"].as_array().unwrap().clone());
        (items.map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), plan)
    };
    let (names, plan) = items(&[]);
    assert_eq!(names, ["E.pfx", "A.1.pfx", "B.pfx"], "a valid test certificate, alone, stays");
    assert!(plan["notes"][0]["what"].as_str().unwrap().starts_with("1 files in it can't be read"), "{plan}");
    assert_eq!(items(&["--tests"]).0, ["C.pfx", "E.pfx", "A.1.pfx", "B.pfx"]);
    scene.prune(&["--yes", "--tests", stores.to_str().unwrap()]).success();
    assert_eq!((state(&stores.join("my")).len(), state(&stores.join("root")).len()), (1, 1));
    scene.prune(&["--undo", "--yes"]).success();
    assert_eq!([state(&stores.join("my")), state(&stores.join("root"))], before);
}

/// In --json as well: what could not be shown would be done unseen.
#[test]
fn names_that_are_no_text_are_shown() {
    use std::os::unix::ffi::OsStrExt;

    let scene = Scene::new();
    let store = scene.path("x509stores").join(std::ffi::OsStr::from_bytes(b"st\xff"));
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("A.pfx"), "no PKCS#12").unwrap();
    let name = std::ffi::OsStr::from_bytes(b"\xfe.pfx");
    symlink("gone", store.join(name)).unwrap();
    let before = state(&store);
    let text = scene.path("x509stores");
    let plan = scene.json(&["--yes", text.to_str().unwrap()]);
    let hex = |value: &Value| value["hex"].as_str().unwrap().to_owned();
    assert!(hex(&plan["stores"][0]["path"]).ends_with("7374ff"), "{plan}");
    assert!(hex(&plan["notes"][0]["path"]).ends_with("7374ff"), "{plan}");
    assert_eq!(hex(&plan["stores"][0]["items"][0]["name"]), "fe2e706678");
    assert_eq!(state(&store).len(), 1);
    assert_eq!(hex(&scene.json(&["--list"])["backups"][0]["entries"][0]["name"]), "fe2e706678");
    assert_eq!(hex(&scene.json(&["--undo", "--yes"])["steps"][0]["path"]).len() % 2, 0);
    assert_eq!(state(&store), before);
}

/// A name that can't be moved stays, and the others go: here /tmp's way, where only the owner may.
#[test]
fn what_may_not_be_moved_keeps_nobody_up() {
    if !common::is_root() {
        return;
    }
    let scene = Scene::new();
    let (store, program) = (scene.path("certs"), scene.path("windlass"));
    fs::create_dir(&store).unwrap();
    fs::copy(fixture("rsa.pem"), store.join("5a3b3f4e.0")).unwrap();
    for name in ["a.pem", "b.pem", "c.pem"] {
        symlink("gone", store.join(name)).unwrap();
    }
    std::os::unix::fs::lchown(store.join("b.pem"), Some(65534), None).unwrap();
    common::copy_program(env!("CARGO_BIN_EXE_windlass"), &program);
    let home = scene.path("home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65534), None).unwrap();
    for (path, mode) in [(&scene.path(""), 0o755), (&program, 0o755), (&store, 0o1777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(&program);
    command.env_clear().env("HOME", &home).uid(65534).gid(65534).args(["prune", "--yes"]).arg(&store);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code() == Some(1) && text.contains("Done: 1 moved"), "{text}{errors}");
    assert!(errors.contains("/a.pem: Operation not permitted") && errors.contains("/c.pem: "), "{errors}");
    assert_eq!(state(&store).len(), 3);
}

/// A kill at any moment leaves what can be undone. It is tried until one came in the middle.
#[test]
fn a_killed_prune_is_undone_to_the_byte() {
    for _ in 0..50 {
        let scene = Scene::new();
        let store = scene.path("certs");
        fs::create_dir(&store).unwrap();
        fs::copy(fixture("rsa.pem"), store.join("5a3b3f4e.0")).unwrap();
        for number in 0..3000 {
            symlink("gone", store.join(format!("{number:08x}.pem"))).unwrap();
        }
        let before = state(&store);
        let backups = scene.path("backups");
        let mut command = std_windlass();
        command.args(["prune", "--yes", "--backups"]).arg(&backups).arg(&store);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let has_moved = || {
            let backup = fs::read_dir(&backups).ok()?.next()?.ok()?.path();
            backup.join("000000").symlink_metadata().ok()
        };
        common::eventually("the first move", || has_moved().is_some() || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let list = scene.json(&["--list"]);
        let (left, finished) = (state(&store).len(), list["backups"][0]["finished"].as_bool().unwrap());
        scene.prune(&["--undo", "--yes"]).success().stderr("");
        assert_eq!(state(&store), before);
        if !finished && left > 1 {
            return;
        }
    }
    panic!("no kill came in the middle");
}

/// Where the record can't be written, nothing is moved.
#[test]
fn a_full_disk_changes_nothing() {
    let scene = Scene::new();
    let store = hashed(&scene);
    let before = state(&store);
    // A file may have so few bytes that the record does not fit.
    let mut command = Command::new("sh");
    common::clean_environment(&mut command);
    command.args([
        "-c",
        "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_windlass"),
        "prune",
        "--yes",
        "--backups",
    ]);
    let output = command.arg(scene.path("backups")).arg(&store).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("can't write a backup below "), "{error}");
    assert_eq!(state(&store), before);
    assert_eq!(fs::read_dir(scene.path("backups")).unwrap().count(), 0, "nothing is left behind");
}

/// The examples of the manual page, as a user with a home of one's own.
#[test]
fn the_examples_of_the_manual_page_work() {
    let scene = Scene::new();
    let home = scene.path("home");
    let store = home.join(".dotnet/corefx/cryptography/x509stores/root");
    fs::create_dir_all(&store).unwrap();
    pfx(&store.join("A.pfx"), &fixture("rsa.pem"));
    pfx(&store.join("B.pfx"), &fixture("expired.pem"));
    let program = scene.path("windlass");
    common::copy_program(env!("CARGO_BIN_EXE_windlass"), &program);
    let before = state(&store);
    // Root would prune this machine: the examples run as nobody.
    if common::is_root() {
        for path in [scene.path(""), program.clone()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(&home).status().unwrap();
        assert!(owned.success());
    }
    let page = windlass().args(["man", "prune"]).assert().success().get_output().stdout.clone();
    let page = String::from_utf8(page).unwrap();
    let (_, examples) = page.split_once(".SH EXAMPLES\n").unwrap();
    let lines = examples.lines().filter_map(|line| line.strip_prefix("\\fBwindlass prune")?.strip_suffix("\\fR"));
    let image = scene.path("image");
    fs::create_dir(&image).unwrap();
    let command = |line: &str| line.replace("\\-", "-").replace("/mnt/image", image.to_str().unwrap());
    let examples: Vec<_> = lines.map(|line| format!("windlass prune{}", command(line))).collect();
    assert_eq!(examples.len(), 6, "{examples:?}");
    let run = |line: &str| {
        let mut command = Command::new("sh");
        command.env_clear().env("HOME", &home).env("PATH", format!("{}:/usr/bin:/bin", scene.path("").display()));
        command.args(["-c", line]).stdin(Stdio::null()).current_dir("/");
        if common::is_root() {
            command.uid(65534).gid(65534);
        }
        command.output().unwrap()
    };
    for example in &examples {
        let output = run(example);
        let text = format!(
            "{example}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        // It asks, and nobody is there.
        let asks = example == "windlass prune";
        assert_eq!(output.status.code(), Some(i32::from(asks)), "{text}");
        if example.contains("--list") {
            assert!(run("windlass prune --yes").status.success());
            assert_eq!(state(&store).len(), 1, "so that the next example has something to undo");
        }
    }
    assert_eq!(state(&store), before, "undone by the example");
    let backups = home.join(".local/share/windlass/pruned");
    assert_eq!(fs::read_dir(&backups).unwrap().count(), 0);
}
