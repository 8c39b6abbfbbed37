//! Whose stores are looked at: also those in HOME, if passwd(5) names another home, as in many containers.

mod common;

use std::fs;

use common::{fixture, windlass};
use serde_json::Value;

#[test]
fn a_home_that_passwd_does_not_name_is_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().canonicalize().unwrap();
    let store = home.join(".dotnet/corefx/cryptography/x509stores/root");
    fs::create_dir_all(&store).unwrap();
    std::os::unix::fs::symlink("gone", store.join("A.pfx")).unwrap();
    let nss = home.join(".pki/nssdb/cert9.db");
    fs::create_dir_all(nss.parent().unwrap()).unwrap();
    fs::copy(fixture("rsa.pem"), &nss).unwrap();
    let output = |arguments: &[&str], is_set: bool| {
        let mut command = windlass();
        if is_set {
            command.env("HOME", &home);
        }
        let output = command.args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{arguments:?}: {text}");
        text
    };
    let cases: [(&[&str], &str); 3] = [
        (&["doctor", "--json", "--check", "nss-database"], nss.to_str().unwrap()),
        (&["prune", "--json", "--dry-run"], store.to_str().unwrap()),
        (&["top", "--json", "--once"], nss.to_str().unwrap()),
    ];
    for (arguments, path) in cases {
        assert!(output(arguments, true).contains(path), "{arguments:?}");
        assert!(!output(arguments, false).contains(path), "{arguments:?}");
    }
}
