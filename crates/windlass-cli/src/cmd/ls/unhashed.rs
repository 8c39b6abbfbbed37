//! Directories without hash links that OpenSSL would find: whether they are meant to have some.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use windlass::RootStore;
use windlass_machine::places::hash_name::HashName;
use windlass_machine::regular;

/// In bytes. A file of a hashed directory holds one certificate.
const MAX_FILE: u64 = 1 << 20;
/// The most files that are read.
const MAX_FILES: usize = 1000;
const OTHERS_WRITE: u32 = 0o002;

/// Whether a directory has hash links, or files that `openssl rehash` would make links for. One in which anyone may
/// write, such as /tmp, is no store, whatever is in it.
pub fn looks_like_a_store(directory: &Path) -> bool {
    find(directory).unwrap_or(false)
}

fn find(directory: &Path) -> io::Result<bool> {
    if directory.metadata()?.mode() & OTHERS_WRITE != 0 {
        return Ok(false);
    }
    let mut candidates = Vec::new();
    for entry in directory.read_dir()? {
        let path = entry?.path();
        if path.file_name().and_then(HashName::parse).is_some() {
            return Ok(true);
        }
        // Those that `openssl rehash` reads (apps/rehash.c); it also links CRLs, which are no roots.
        if path.extension().is_some_and(|end| ["pem", "crt", "cer"].iter().any(|known| end == *known)) {
            candidates.push(path);
        }
    }
    Ok(candidates.iter().take(MAX_FILES).any(|path| holds_one(path).unwrap_or(false)))
}

/// Whether the file holds exactly one certificate: `openssl rehash` skips the others.
fn holds_one(path: &Path) -> io::Result<bool> {
    let mut bytes = Vec::new();
    regular::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(RootStore::from_pem(&bytes).is_ok_and(|store| store.len() == 1))
}
