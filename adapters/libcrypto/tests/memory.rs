//! What judging leaves behind. The only test of this program: others in the same process would be counted with it.

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
    let judge = || libcrypto.judge(&store, &mut |_| {}).unwrap();
    judge();
    let before = resident_pages();
    for _ in 0..7 {
        judge();
    }
    // 10,000 certificates have 10 MB even as DER; libcrypto's own form is larger.
    let grown = resident_pages().saturating_sub(before);
    assert!(grown < 512, "grown by {grown} pages");
}

fn resident_pages() -> usize {
    std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}
