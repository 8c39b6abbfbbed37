//! Stores made by the programs that they belong to: openssl, keytool and NSS's certutil.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

mod pfx_files;

use pfx_files::pfx;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn der(name: &str) -> Vec<u8> {
    pem(&std::fs::read(fixture(name)).unwrap()).unwrap().remove(0).der
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output();
    let output = output.unwrap_or_else(|error| panic!("{program} (see tests/prune/packages.txt): {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn keystore(directory: &Path, kind: &str, password: &str) -> Vec<u8> {
    keystore_with(directory, kind, password, &[])
}

fn keystore_with(directory: &Path, kind: &str, password: &str, options: &[&str]) -> Vec<u8> {
    let store = directory.join(kind);
    let store = store.to_str().unwrap();
    for (alias, name) in [("one", "rsa.pem"), ("two", "expired.pem")] {
        let file = fixture(name);
        let arguments = ["-importcert", "-noprompt", "-alias", alias, "-file", file.to_str().unwrap()];
        let more = ["-keystore", store, "-storetype", kind, "-storepass", password];
        run("keytool", &[&arguments[..], &more, options].concat());
    }
    std::fs::read(store).unwrap()
}

#[test]
fn keystores_of_java() {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["JKS", "PKCS12"] {
        let bytes = keystore(directory.path(), kind, "changeit");
        let mut all = read(PlaceKind::JavaKeystore, &bytes, &Work::default()).unwrap();
        all.sort_by(|one, other| one.label.cmp(&other.label));
        let seen: Vec<_> = all.iter().map(|entry| (&*entry.label, &entry.der, entry.trust)).collect();
        assert_eq!(
            seen,
            [("one", &der("rsa.pem"), Trust::Anchor), ("two", &der("expired.pem"), Trust::Anchor)],
            "{kind}"
        );
        // JKS stores the time.
        assert_eq!(all[0].added.is_some_and(|added| added > 1_600_000_000), kind == "JKS");
    }
    // As Java wrote it up to version 15.
    let old = tempfile::tempdir().unwrap();
    let bytes = keystore_with(old.path(), "PKCS12", "changeit", &["-J-Dkeystore.pkcs12.legacy"]);
    assert_eq!(read(PlaceKind::JavaKeystore, &bytes, &Work::default()).map(|all| all.len()), Ok(2));
    // A password of its own protects a JKS against changes only, a PKCS#12 file against being read.
    let own = tempfile::tempdir().unwrap();
    let bytes = keystore(own.path(), "JKS", "another");
    assert!(read(PlaceKind::JavaKeystore, &bytes, &Work::default()).is_ok());
    let bytes = keystore(own.path(), "PKCS12", "another");
    assert_eq!(read(PlaceKind::JavaKeystore, &bytes, &Work::default()), Err(Unreadable::Encrypted));
}

fn nss_database(directory: &Path) -> Vec<u8> {
    let place = format!("sql:{}", directory.display());
    run("certutil", &["-N", "-d", &place, "--empty-password"]);
    for (name, trust, file) in [("a", "C,,", "rsa.pem"), ("b", "p,p,p", "expired.pem"), ("c", ",,", "p384.pem")] {
        let file = fixture(file);
        run("certutil", &["-A", "-d", &place, "-n", name, "-t", trust, "-a", "-i", file.to_str().unwrap()]);
    }
    std::fs::read(directory.join("cert9.db")).unwrap()
}

#[test]
fn databases_of_nss() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = nss_database(directory.path());
    let expected = [
        ("a", der("rsa.pem"), Trust::Anchor),
        ("b", der("expired.pem"), Trust::Distrusted),
        ("c", der("p384.pem"), Trust::Nothing),
    ];
    // Also one that is said to have a write-ahead log.
    for version in [1, 2] {
        bytes[VERSION_BYTES].fill(version);
        let mut all = read(PlaceKind::NssDatabase, &bytes, &Work::default()).unwrap();
        all.sort_by(|one, other| one.label.cmp(&other.label));
        let seen = all.iter().map(|entry| (&*entry.label, entry.der.clone(), entry.trust));
        assert_eq!(seen.collect::<Vec<_>>(), expected);
    }
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "cert9.db, key4.db, pkcs11.txt: {names:?}");
}

const VERSION_BYTES: std::ops::Range<usize> = 18..20;

/// A view in place of the table would be a program that runs here.
#[test]
fn a_database_can_run_nothing() {
    let database = rusqlite::Connection::open_in_memory().unwrap();
    let endless = "CREATE VIEW nssPublic AS WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM x)
        SELECT x'00000001' AS a0, n AS a11, n AS a3, n AS a81, n AS a82, n AS ace536358, n AS id FROM x;";
    database.execute_batch(endless).unwrap();
    refused(&database);
    // The type that a file states for an object may be wrong.
    let lie = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'table'";
    database.execute_batch(lie).unwrap();
    refused(&database);
    let comment = "; UPDATE sqlite_master SET sql = replace(sql, 'CREATE VIEW', 'CREATE TABLE/**/ VIEW')";
    database.execute_batch(&[lie, comment].concat()).unwrap();
    refused(&database);
}

fn refused(database: &rusqlite::Connection) {
    let bytes = database.serialize(rusqlite::MAIN_DB).unwrap().to_vec();
    assert_eq!(read(PlaceKind::NssDatabase, &bytes, &Work::default()), Err(Unreadable::Malformed("an NSS database")));
}

/// The columns of a table can be programs too, and cannot be interrupted within one step.
#[test]
fn a_table_that_computes_is_refused() {
    let slow = "a11 GENERATED ALWAYS AS (like('%'||hex(zeroblob(20000))||'1', hex(zeroblob(250000))))";
    let stored = "a11 AS (x'00') STORED";
    for (column, is_plain) in [(slow, false), (stored, false), ("a11 DEFAULT (1)", false), ("a11", true)] {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        // Inserting evaluates columns too, and therefore such a column is added later.
        let (now, later) = if column == slow { ("ab", column) } else { (column, "ab") };
        let table = format!(
            "CREATE TABLE nssPublic (id PRIMARY KEY UNIQUE ON CONFLICT ABORT, a0, a3, a81, a82, ace536358, {now});
             INSERT INTO nssPublic (id, a0) VALUES (1, x'00000001'), (2, x'00000001'), (3, x'00000001');
             ALTER TABLE nssPublic ADD COLUMN {later};"
        );
        database.execute_batch(&table).unwrap();
        match is_plain {
            true => {
                let bytes = database.serialize(rusqlite::MAIN_DB).unwrap().to_vec();
                assert_eq!(read(PlaceKind::NssDatabase, &bytes, &Work::default()).unwrap().len(), 3);
            }
            false => refused(&database),
        }
    }
}

/// Neither damage nor malice makes a reader panic, hang or use more memory than the size of the file.
#[test]
fn damaged_stores_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let stores = [
        (PlaceKind::JavaKeystore, keystore(directory.path(), "JKS", "changeit")),
        (PlaceKind::DotnetStore, pfx(directory.path(), &["-certpbe", "PBE-SHA1-3DES"])),
        (PlaceKind::DotnetStore, pfx(directory.path(), &["-legacy", "-certpbe", "PBE-SHA1-RC2-40"])),
        (PlaceKind::DotnetStore, pfx(directory.path(), &["-certpbe", "NONE"])),
        (PlaceKind::NssDatabase, nss_database(directory.path())),
        (PlaceKind::CertifiBundle, std::fs::read(fixture("rsa.pem")).unwrap()),
    ];
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for (kind, bytes) in stores {
        let mut refused = 0;
        for round in 0..150 {
            let mut bytes = bytes.clone();
            if round % 3 == 0 {
                bytes.truncate(next(bytes.len()));
            } else {
                // The first bytes have the lengths and counts.
                let within = if round % 3 == 1 { 200.min(bytes.len()) } else { bytes.len() };
                for _ in 0..=next(4) {
                    bytes[next(within)] = next(256) as u8;
                }
            }
            // A small allowance: no round may take long.
            refused += usize::from(read(kind, &bytes, &Work(Cell::new(100_000))).is_err());
        }
        assert!(refused > 20, "{kind:?}: only {refused} of 150 were refused");
    }
    for kind in [PlaceKind::JavaKeystore, PlaceKind::DotnetStore, PlaceKind::NssDatabase] {
        for bytes in
            [&b""[..], b"\xfe\xed\xfe\xed", b"\xfe\xed\xfe\xed\0\0\0\x02\xff\xff\xff\xff", b"SQLite format 3\0"]
        {
            assert!(read(kind, bytes, &Work::default()).is_err());
        }
    }
}
