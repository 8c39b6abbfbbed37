//! Memory and errors that judging and loading leave behind. The only test of this program: others in the same process
//! would affect the numbers.

use std::path::{Path, PathBuf};

use windlass::RootStore;
use windlass_libcrypto::Libcrypto;

/// Ten thousand certificates leave no memory behind, and no error in the queue (which holds 16).
#[test]
fn nothing_is_left_behind() {
    let name = std::env::var_os("WINDLASS_TEST_LIBCRYPTO").map_or_else(|| "libcrypto.so.3".into(), PathBuf::from);
    let libcrypto = Libcrypto::open(&name).unwrap();
    let pem = std::fs::read(Path::new("/etc/ssl/certs/ca-certificates.crt")).expect("package ca-certificates");
    let store = RootStore::from_pem(&pem.repeat(10)).unwrap();
    // Huge pages would count memory that was never requested. SAFETY: no memory of this process is passed.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1u64, 0u64, 0u64, 0u64) }, 0);
    let ders: Vec<&[u8]> = store.anchors().map(|anchor| anchor.der()).collect();
    let directory = tempfile::tempdir().unwrap();
    let bad = directory.path().join("bad.pem");
    std::fs::write(&bad, [&pem[..], b"-----BEGIN CERTIFICATE-----\n"].concat()).unwrap();
    let judge = || {
        libcrypto.judge(&store, &mut |_| {}).unwrap();
        assert_eq!(libcrypto.load_certificates(&ders), ders.len());
        assert!(libcrypto.load_file(&bad).is_err());
    };
    judge();
    let before = own_kilobytes();
    for _ in 0..7 {
        judge();
    }
    // 10,000 certificates have 10 MB even as DER; libcrypto's own form is larger.
    let grown = own_kilobytes().saturating_sub(before);
    assert!(grown < 2048, "grown by {grown} KiB");
}

/// Memory without a file behind it, swapped out or not: how much of the files is in memory depends on the machine. Not
/// from /proc/self/statm, which may lag by some pages for each processor.
fn own_kilobytes() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let fields = rollup.lines().filter(|line| line.starts_with("Anonymous:") || line.starts_with("Swap:"));
    fields.map(|line| line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()).sum()
}
