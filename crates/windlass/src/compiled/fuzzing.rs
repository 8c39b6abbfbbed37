//! Entry points without files for the fuzz targets in `fuzz/`. Only compiled with `--cfg fuzzing`.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::format::{Malformed, Origin};
use super::image::encode;
use super::reader::Compiled;
use crate::error::Unsupported;
use crate::identity::Identity;
use crate::root_store::RootStore;
use crate::source::{HashName, Source, State};

/// The root store in a file with these bytes.
pub fn read(bytes: Vec<u8>) -> Result<RootStore, Malformed> {
    Compiled::from_bytes(bytes, None)?.into_store().map(|(store, _)| store)
}

/// The bytes of the compiled store of these PEM files, as files of a hashed directory; a single file is compiled as a
/// CAfile.
pub fn compile(files: &[&[u8]]) -> Result<Vec<u8>, Unsupported> {
    let store = RootStore::from_pem_files(files.iter().copied()).map_err(|(_, what)| what)?;
    let identity = |file: &[u8]| Identity { dev: 1, ino: 2, size: file.len() as u64, mtime_ns: -1, ctime_ns: 1 << 62 };
    let (source, state) = match files {
        [file] => (Source::Cafile(PathBuf::from("/ca.pem")), State::File(identity(file))),
        files => {
            let names = (0..).map(|number| HashName { hash: 7, number });
            let states = names.zip(files.iter().map(|file| identity(file))).collect();
            (Source::Capath(PathBuf::from("/certs")), State::Directory(identity(&[]), states))
        }
    };
    let digests = files.iter().map(|file| Sha256::digest(file).into()).collect();
    let origin = Origin { source, state, digests, believed: true, source_bytes: store.source_bytes() };
    encode(&origin, &store, None).ok_or(Unsupported::OutOfMemory)
}
