//! The behaviour of `shim.c` on a libc without any of the newer functions.

#![cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::path::Path;
use std::process::Command;

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {} {said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_an_older_glibc_lacks_is_done_by_what_it_has() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().unwrap();
    let (library, program) = (directory.path().join("libshim.so"), directory.path().join("older"));
    let cc = || Command::new("cc");
    succeeds(cc().args(["-O2", "-fPIC", "-shared", "-o"]).arg(&library).arg(package.join("src/shim.c")));
    succeeds(cc().args(["-O1", "-o"]).arg(&program).arg(package.join("tests/older.c")).arg(&library).arg("-ldl"));
    assert_eq!(succeeds(&mut Command::new(&program)), "as today\n");
}
