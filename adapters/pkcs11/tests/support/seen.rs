//! A module's view of the trust in each certificate of a place.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

use crate::support::{self, CERTIFICATE, NSS_TRUST, SERVER_DISTRUST_AFTER, X_DISTRUSTED, bytes, class};

const VALUE: u64 = 0x11;
const ISSUER: u64 = 0x81;
const SERIAL_NUMBER: u64 = 0x82;
const TRUSTED: u64 = 0x86;
const SHA1: u64 = 0xCE53_63B4;
const EMAIL_DISTRUST_AFTER: u64 = 0xCE53_4374;
/// Server, client, code, e-mail.
const PURPOSES: [u64; 4] = [0xCE53_6358, 0xCE53_6359, 0xCE53_635A, 0xCE53_635B];

const TRUSTED_ITSELF: u64 = 0xCE53_4351;
const TRUSTED_DELEGATOR: u64 = 0xCE53_4352;
pub const NOT_TRUSTED: u64 = 0xCE53_435A;

/// The rank of one of NSS's verdicts: a higher one trusts more.
pub fn rank(verdict: u64) -> u8 {
    match verdict {
        TRUSTED_ITSELF => 1,
        TRUSTED_DELEGATOR => 2,
        _ => 0,
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub certificates: BTreeSet<Certificate>,
    pub trust: BTreeSet<Trust>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Certificate {
    pub value: Vec<u8>,
    pub issuer: Vec<u8>,
    pub serial: Vec<u8>,
    pub trusted: bool,
    pub distrusted: bool,
    pub distrust_after: [Option<Vec<u8>>; 2],
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trust {
    pub issuer: Vec<u8>,
    pub serial: Vec<u8>,
    pub sha1: Vec<u8>,
    pub verdicts: [u64; 4],
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Certificate { value, issuer, serial, trusted, distrusted, distrust_after } = self;
        let (len, issuer, serial) = (value.len(), issuer.escape_ascii(), serial.escape_ascii());
        write!(
            f,
            "{len} bytes, issuer {issuer}, serial {serial}, trusted {trusted}, \
             distrusted {distrusted}, {distrust_after:?}"
        )
    }
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Trust { issuer, serial, sha1, verdicts } = self;
        let (issuer, serial, sha1) = (issuer.escape_ascii(), serial.escape_ascii(), sha1.escape_ascii());
        write!(f, "issuer {issuer}, serial {serial}, SHA-1 {sha1}, {verdicts:x?}")
    }
}

impl Certificate {
    /// Whether both refer to one certificate.
    pub fn is_same(&self, other: &Certificate) -> bool {
        (&self.value, &self.issuer, &self.serial) == (&other.value, &other.issuer, &other.serial)
    }
}

impl Trust {
    /// Whether it refers to the other certificate, or to all with its issuer and serial number.
    pub fn speaks_of(&self, other: &Trust) -> bool {
        let is_about_it = self.sha1.is_empty() || self.sha1 == other.sha1;
        is_about_it && (&self.issuer, &self.serial) == (&other.issuer, &other.serial)
    }
}

/// Everything that the module reports.
pub fn look(library: &Path, place: &Path) -> Seen {
    let _quiet = Quiet::new();
    let module = support::open(library, place.to_str().unwrap());
    let session = module.session();
    let certificates = session.find_objects(&[class(CERTIFICATE)]).unwrap();
    let certificate = |object| Certificate {
        value: bytes(&session, object, VALUE).unwrap_or_default(),
        issuer: bytes(&session, object, ISSUER).unwrap_or_default(),
        serial: bytes(&session, object, SERIAL_NUMBER).unwrap_or_default(),
        trusted: bytes(&session, object, TRUSTED).is_some_and(|value| value.len() == 1 && value != [0]),
        distrusted: bytes(&session, object, X_DISTRUSTED).is_some_and(|value| value.len() == 1 && value != [0]),
        distrust_after: [SERVER_DISTRUST_AFTER, EMAIL_DISTRUST_AFTER].map(|after| bytes(&session, object, after)),
    };
    let certificates = certificates.into_iter().map(certificate).collect();
    let number = |object, attribute| {
        let value = bytes(&session, object, attribute);
        value.and_then(|value| value.try_into().ok()).map_or(u64::MAX, u64::from_ne_bytes)
    };
    let trust = |object| Trust {
        issuer: bytes(&session, object, ISSUER).unwrap_or_default(),
        serial: bytes(&session, object, SERIAL_NUMBER).unwrap_or_default(),
        sha1: bytes(&session, object, SHA1).unwrap_or_default(),
        verdicts: PURPOSES.map(|purpose| number(object, purpose)),
    };
    let trust = session.find_objects(&[class(NSS_TRUST)]).unwrap().into_iter().map(trust).collect();
    Seen { certificates, trust }
}

/// Silences standard error: p11-kit prints a message about each odd file.
struct Quiet(File);

impl Quiet {
    fn new() -> Quiet {
        // SAFETY: the descriptor is new and owned by no one else.
        let saved = unsafe { File::from_raw_fd(libc::dup(2)) };
        redirect(&File::options().write(true).open("/dev/null").unwrap());
        Quiet(saved)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        redirect(&self.0);
    }
}

fn redirect(to: &File) {
    // SAFETY: both descriptors are open.
    assert_eq!(unsafe { libc::dup2(to.as_raw_fd(), 2) }, 2);
}
