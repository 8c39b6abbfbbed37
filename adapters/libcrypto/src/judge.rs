//! Checks every certificate of a root store with libcrypto.

use thiserror::Error;
use windlass::{AnchorIndex, RootStore, SubjectHash};

use crate::certificate::Certificate;
use crate::open::Libcrypto;

/// The result for a root store whose certificates are all accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The number of certificates whose public key this libcrypto can't decode: stock programs load them too, and can't
    /// verify with them.
    pub keys_not_decoded: usize,
}

/// The objection to a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Objection {
    /// `d2i_X509` failed.
    #[error("it can't be decoded")]
    NotDecoded,
    /// `d2i_X509` left bytes over.
    #[error("only its first {0} bytes are a certificate")]
    BytesLeftOver(usize),
    /// `i2d_X509` returns other bytes than those that were decoded.
    #[error("it encodes to other bytes")]
    OtherEncoding,
    /// The subject hashes differ, so a lookup would miss it.
    #[error("the hash of its subject is {theirs:08x}, and not {ours}")]
    SubjectHash {
        /// The core's hash.
        ours: SubjectHash,
        /// libcrypto's hash.
        theirs: u64,
    },
}

/// A certificate that libcrypto does not accept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{version} does not accept certificate {number}: {objection}", number = index.get() + 1)]
pub struct Refused {
    /// The refused certificate.
    pub index: AnchorIndex,
    /// The reason.
    pub objection: Objection,
    /// The version of the libcrypto.
    pub version: String,
}

impl Libcrypto {
    /// Checks all certificates, and stops at the first that libcrypto does not accept. After each certificate
    /// `progress` is called with the number done so far. The time is linear in their number, the memory constant.
    pub fn judge(&self, store: &RootStore, progress: &mut dyn FnMut(usize)) -> Result<Judgement, Refused> {
        let mut judgement = Judgement::default();
        let mut buffer = Vec::new();
        for anchor in store.anchors() {
            let verdict = self.judge_one(anchor.der(), anchor.subject_hash(), &mut buffer);
            // SAFETY: the queue is this thread's own, and this libcrypto is used by this crate only.
            unsafe { (self.functions.ERR_clear_error)() };
            match verdict {
                Ok(key) => judgement.keys_not_decoded += usize::from(!key),
                Err(objection) => {
                    return Err(Refused { index: anchor.index(), objection, version: self.version().to_owned() });
                }
            }
            progress(anchor.index().get() + 1);
        }
        Ok(judgement)
    }

    /// Checks one certificate. Returns whether the key of an accepted one can be decoded.
    fn judge_one(&self, der: &[u8], ours: SubjectHash, buffer: &mut Vec<u8>) -> Result<bool, Objection> {
        let (certificate, taken) = Certificate::decode(&self.functions, der).ok_or(Objection::NotDecoded)?;
        if taken != der.len() {
            return Err(Objection::BytesLeftOver(taken));
        }
        if !certificate.encodes_as(der, buffer) {
            return Err(Objection::OtherEncoding);
        }
        let theirs = certificate.subject_hash();
        if theirs != u64::from(ours.0) {
            return Err(Objection::SubjectHash { ours, theirs });
        }
        Ok(certificate.has_key())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// The system's libcrypto, or the one that `WINDLASS_TEST_LIBCRYPTO` names.
    fn libcrypto() -> Libcrypto {
        let name = std::env::var_os("WINDLASS_TEST_LIBCRYPTO").map_or_else(|| "libcrypto.so.3".into(), PathBuf::from);
        Libcrypto::open(&name).expect("libcrypto")
    }

    fn store() -> RootStore {
        let pem = include_bytes!("../../../tests/fixtures/rsa.pem");
        RootStore::from_pem(pem).expect("fixture")
    }

    /// The judgement of a certificate after `change`.
    fn judged(change: impl FnOnce(&mut Vec<u8>)) -> Result<bool, Objection> {
        let store = store();
        let anchor = store.anchors().next().expect("an anchor");
        let mut der = anchor.der().to_vec();
        change(&mut der);
        libcrypto().judge_one(&der, anchor.subject_hash(), &mut Vec::new())
    }

    #[test]
    fn a_certificate_is_accepted_as_it_is() {
        assert_eq!(judged(|_| {}), Ok(true));
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert_eq!(judged(Vec::clear), Err(Objection::NotDecoded));
        assert_eq!(judged(|der| der.truncate(der.len() - 1)), Err(Objection::NotDecoded));
        assert_eq!(judged(|der| der[0] = 0x31), Err(Objection::NotDecoded));
    }

    #[test]
    fn bytes_behind_a_certificate_are_noticed() {
        let length = store().anchors().next().expect("an anchor").der().len();
        assert_eq!(judged(|der| der.push(0)), Err(Objection::BytesLeftOver(length)));
    }

    /// libcrypto decodes BER, and encodes it as DER.
    #[test]
    fn an_encoding_that_does_not_come_back_is_noticed() {
        let padded = judged(|der| {
            // 30 82 hh ll -> 30 83 00 hh ll
            assert_eq!(der[..2], [0x30, 0x82]);
            der[1] = 0x83;
            der.insert(2, 0);
        });
        assert_eq!(padded, Err(Objection::OtherEncoding));
    }

    #[test]
    fn another_hash_is_noticed() {
        let store = store();
        let anchor = store.anchors().next().expect("an anchor");
        let (ours, theirs) = (SubjectHash(anchor.subject_hash().0 ^ 1), u64::from(anchor.subject_hash().0));
        let verdict = libcrypto().judge_one(anchor.der(), ours, &mut Vec::new());
        assert_eq!(verdict, Err(Objection::SubjectHash { ours, theirs }));
    }

    /// A key that can't be decoded is no reason to refuse the certificate: stock programs also load it.
    #[test]
    fn a_key_that_cannot_be_decoded_is_information() {
        let verdict = judged(|der| {
            // rsaEncryption becomes an algorithm that does not exist.
            let rsa = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
            let place = der.windows(rsa.len()).position(|bytes| bytes == rsa).expect("an RSA key");
            der[place + rsa.len() - 1] = 0x7f;
        });
        assert_eq!(verdict, Ok(false));
    }
}
