//! `windlass compile --check`: what it notices, and that it writes nothing.

mod common;

use std::fs::{File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use common::{bundle, fixture, json_of, windlass};
use predicates::str::contains;

/// A source that was compiled.
struct Compiled {
    directory: tempfile::TempDir,
    source: PathBuf,
    store: PathBuf,
}

impl Compiled {
    fn file(names: &[&str]) -> Compiled {
        Compiled::of(|directory| bundle(directory, names))
    }

    fn of(make: impl FnOnce(&Path) -> PathBuf) -> Compiled {
        let directory = tempfile::tempdir().unwrap();
        let source = make(directory.path());
        let store = directory.path().join("stores");
        windlass().env("WINDLASS_STORE", &store).arg("compile").arg(&source).assert().success();
        let compiled = Compiled { directory, source, store };
        compiled.assert("fresh", "", 0);
        compiled
    }

    /// What `--check` says now: state, part of the reason, exit status.
    fn assert(&self, state: &str, detail: &str, status: i32) {
        let before = self.written();
        let arguments = ["compile".as_ref(), "--check".as_ref(), self.source.as_os_str()];
        let (report, found) = json_of(&self.store, &arguments);
        let row = &report["sources"][0];
        assert_eq!((row["state"].as_str().unwrap(), found), (state, status), "{row:#}");
        let said = row["detail"].as_str().unwrap_or_default();
        assert!(said.contains(detail) && said.is_empty() == detail.is_empty(), "{row:#}");
        assert!(self.written() == before, "something was written");
    }

    /// Name, content and change time of all compiled stores.
    fn written(&self) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
        let Ok(entries) = std::fs::read_dir(&self.store) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = paths
            .map(|path| {
                let modified = path.metadata().unwrap().modified().unwrap();
                (path.clone(), std::fs::read(path).unwrap(), modified)
            })
            .collect();
        all.sort();
        all
    }

    fn store_file(&self) -> PathBuf {
        let files = self.written().into_iter().map(|(path, _, _)| path);
        files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "store")).unwrap()
    }
}

fn modified(path: &Path) -> FileTimes {
    FileTimes::new().set_modified(path.metadata().unwrap().modified().unwrap())
}

#[test]
fn a_touched_source_is_fresh_by_content() {
    let compiled = Compiled::file(&["rsa.pem"]);
    let file = File::options().append(true).open(&compiled.source).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
    compiled.assert("fresh-by-content", "identity of the files has changed", 0);
}

#[test]
fn a_changed_source_is_stale() {
    let compiled = Compiled::file(&["rsa.pem", "p384.pem"]);
    bundle(compiled.directory.path(), &["rsa.pem", "ed25519.pem"]);
    compiled.assert("stale", "bundle.pem has changed", 5);
    let stale = format!("\n\n{} has changed\n", compiled.source.display());
    let mut command = windlass();
    command.env("WINDLASS_STORE", &compiled.store).args(["compile", "--check"]).arg(&compiled.source);
    command.assert().code(5).stdout(contains(stale)).stderr("");
}

#[test]
fn another_file_of_the_same_size_and_time_is_stale() {
    let compiled = Compiled::file(&["rsa.pem", "p384.pem"]);
    let other = tempfile::tempdir_in(compiled.directory.path()).unwrap();
    let other = bundle(other.path(), &["p384.pem", "rsa.pem"]);
    assert_eq!(other.metadata().unwrap().len(), compiled.source.metadata().unwrap().len());
    File::options().append(true).open(&other).unwrap().set_times(modified(&compiled.source)).unwrap();
    std::fs::rename(&other, &compiled.source).unwrap();
    compiled.assert("stale", "bundle.pem has changed", 5);
}

/// As when a bind-mounted file is written to: same inode, size and time.
#[test]
fn a_source_rewritten_in_place_is_stale() {
    let compiled = Compiled::file(&["rsa.pem", "p384.pem"]);
    let times = modified(&compiled.source);
    bundle(compiled.directory.path(), &["p384.pem", "rsa.pem"]);
    File::options().append(true).open(&compiled.source).unwrap().set_times(times).unwrap();
    compiled.assert("stale", "bundle.pem has changed", 5);
}

#[test]
fn a_removed_source_is_stale() {
    let compiled = Compiled::file(&["rsa.pem"]);
    std::fs::remove_file(&compiled.source).unwrap();
    compiled.assert("stale", "bundle.pem does not exist", 5);
}

/// Kubernetes changes a mounted volume by replacing the link `..data`.
#[test]
fn a_swap_of_data_is_noticed() {
    let swap = |directory: &Path, version: &str, names: &[&str]| {
        std::fs::create_dir(directory.join(version)).unwrap();
        bundle(&directory.join(version), names);
        symlink(version, directory.join("..data_tmp")).unwrap();
        std::fs::rename(directory.join("..data_tmp"), directory.join("..data")).unwrap();
    };
    let compiled = Compiled::of(|directory| {
        swap(directory, "..2026_1", &["rsa.pem"]);
        symlink("..data/bundle.pem", directory.join("ca.pem")).unwrap();
        directory.join("ca.pem")
    });
    swap(compiled.directory.path(), "..2026_2", &["rsa.pem"]);
    compiled.assert("fresh-by-content", "identity of the files has changed", 0);
    swap(compiled.directory.path(), "..2026_3", &["p384.pem"]);
    compiled.assert("stale", "ca.pem has changed", 5);
}

#[test]
fn a_directory_is_stale_when_a_file_comes_goes_or_changes() {
    let hash = |name: &str| {
        let listing = common::listing_of(&fixture(name));
        listing["anchors"][0]["subject_hash"].as_str().unwrap().to_owned()
    };
    let hashed = |directory: &Path, name: &str, number: u32| {
        let path = directory.join(format!("{}.{number}", hash(name)));
        std::fs::copy(fixture(name), &path).unwrap();
        path
    };
    let make = |directory: &Path| {
        let certs = directory.join("certs");
        std::fs::create_dir(&certs).unwrap();
        hashed(&certs, "rsa.pem", 0);
        hashed(&certs, "p384.pem", 0);
        certs
    };
    let compiled = Compiled::of(make);
    let added = hashed(&compiled.source, "ed25519.pem", 0);
    compiled.assert("stale", "1 files more and 0 files less", 5);
    std::fs::remove_file(added).unwrap();
    compiled.assert("fresh-by-content", "identity of the files has changed", 0);
    let changed = hashed(&compiled.source, "rsa.pem", 0);
    std::fs::copy(fixture("twin.pem"), &changed).unwrap();
    compiled.assert("stale", &format!("{} has changed", changed.file_name().unwrap().to_str().unwrap()), 5);
    std::fs::remove_file(changed).unwrap();
    compiled.assert("stale", "0 files more and 1 files less", 5);
}

#[test]
fn a_store_that_is_missing_or_cannot_be_used_is_not_fresh() {
    let compiled = Compiled::file(&["rsa.pem"]);
    let store = compiled.store_file();
    let bytes = std::fs::read(&store).unwrap();

    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o664)).unwrap();
    compiled.assert("unusable", "others may write to it (mode 0664)", 5);
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&store, &bytes[..bytes.len() - 1]).unwrap();
    compiled.assert("unusable", "bytes long instead of", 5);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    std::fs::write(&store, flipped).unwrap();
    compiled.assert("unusable", "damaged", 5);
    std::fs::remove_file(&store).unwrap();
    compiled.assert("missing", "no such compiled store", 5);
    std::fs::remove_dir_all(&compiled.store).unwrap();
    compiled.assert("missing", "no such compiled store", 5);
    assert!(!compiled.store.exists());

    // It is put right by compiling.
    windlass().env("WINDLASS_STORE", &compiled.store).arg("compile").arg(&compiled.source).assert().success();
    compiled.assert("fresh", "", 0);
}

/// Programs find a compiled store by the path that they name, to the byte: `DIR/` is another one than `DIR`.
#[test]
fn another_spelling_of_a_compiled_source_is_told() {
    let compiled = Compiled::file(&["rsa.pem"]);
    let directory = compiled.source.parent().unwrap();
    let other = directory.join(".").join(compiled.source.file_name().unwrap());
    let other =
        std::ffi::OsString::from(format!("{}/./{}", directory.display(), other.file_name().unwrap().to_str().unwrap()));
    let (report, status) = json_of(&compiled.store, &["compile".as_ref(), "--check".as_ref(), &other]);
    assert_eq!((report["sources"][0]["state"].as_str(), status), (Some("missing"), 5), "{report:#}");
    let why = format!("there is one for {}, but programs find it only by exactly the path", compiled.source.display());
    assert!(report["sources"][0]["detail"].as_str().unwrap().starts_with(&why), "{report:#}");
    let mut command = windlass();
    let table =
        command.env("WINDLASS_STORE", &compiled.store).args(["compile", "--check"]).arg(&other).assert().code(5);
    table.stdout(predicates::str::contains(why));
}
