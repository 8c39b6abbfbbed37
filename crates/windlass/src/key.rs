//! Public keys and algorithms, limited to those that every libcrypto decodes.
//!
//! To `d2i_X509`, a key that can't be decoded is not an error. To `X509_get0_pubkey` it is: this function tries once,
//! remembers the result, and raises errors differently in each version. Only keys that all versions decode are
//! accepted: RSA, the three NIST curves, and Edwards curves. Whether a point lies on its curve is not checked: that
//! takes arithmetic.

use crate::der::{BIT_STRING, INTEGER, NULL, OBJECT_IDENTIFIER, Reader, SEQUENCE, integer, object_identifier};
use crate::error::DerFault;

/// 1.2.840.113549.1.1.1
const RSA_ENCRYPTION: &[u8] = b"\x2A\x86\x48\x86\xF7\x0D\x01\x01\x01";
/// 1.2.840.113549.1.1.10
const RSASSA_PSS: &[u8] = b"\x2A\x86\x48\x86\xF7\x0D\x01\x01\x0A";
/// 1.2.840.10045.2.1
const EC_PUBLIC_KEY: &[u8] = b"\x2A\x86\x48\xCE\x3D\x02\x01";
/// 1.2.840.10045.3.1.7
const P256: &[u8] = b"\x2A\x86\x48\xCE\x3D\x03\x01\x07";
/// 1.3.132.0.34
const P384: &[u8] = b"\x2B\x81\x04\x00\x22";
/// 1.3.132.0.35
const P521: &[u8] = b"\x2B\x81\x04\x00\x23";
/// 1.3.101.112
const ED25519: &[u8] = b"\x2B\x65\x70";
/// 1.3.101.113
const ED448: &[u8] = b"\x2B\x65\x71";

/// `OPENSSL_RSA_MAX_MODULUS_BITS`, in bytes.
const MAX_MODULUS: usize = 16384 / 8;
/// `OPENSSL_RSA_MAX_PUBEXP_BITS`, in bytes.
const MAX_EXPONENT: usize = 8;

/// The parameters of RSASSA-PSS with one of the three common digests, and a salt as long as the digest; zeros mark the
/// bytes that depend on the digest.
const PSS_PARAMETERS: &[u8] = b"\xA0\x0F\x30\x0D\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\0\x05\0\
    \xA1\x1C\x30\x1A\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x01\x08\
    \x30\x0D\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\0\x05\0\xA2\x03\x02\x01\0";
const PSS_DIGEST: usize = 14;
const PSS_MASK_DIGEST: usize = 44;
const PSS_SALT: usize = 51;

enum Parameters<'a> {
    Absent,
    Null,
    Curve(&'a [u8]),
    Sequence(&'a [u8]),
}

/// `X509_ALGOR`: an OBJECT IDENTIFIER and parameters of any type. `asn1_ex_c2i` checks the content of simple types, and
/// therefore only the types in use are accepted: none, NULL, a named curve, a SEQUENCE (kept as it is).
fn algorithm_identifier<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], Parameters<'a>), DerFault> {
    let mut algorithm = reader.enter(SEQUENCE)?;
    let oid = algorithm.content_of(OBJECT_IDENTIFIER)?;
    object_identifier(oid)?;
    let parameters = match algorithm.peek() {
        None => Parameters::Absent,
        Some(NULL) => {
            if !algorithm.content_of(NULL)?.is_empty() {
                return Err(DerFault::Parameters);
            }
            Parameters::Null
        }
        Some(OBJECT_IDENTIFIER) => {
            let curve = algorithm.content_of(OBJECT_IDENTIFIER)?;
            object_identifier(curve)?;
            Parameters::Curve(curve)
        }
        Some(SEQUENCE) => Parameters::Sequence(algorithm.content_of(SEQUENCE)?),
        _ => return Err(DerFault::Parameters),
    };
    algorithm.end()?;
    Ok((oid, parameters))
}

/// Among the algorithms that libcrypto knows, `x509_sig_info_init` checks the parameters of RSASSA-PSS only.
pub(crate) fn signature_algorithm(der: &[u8]) -> Result<(), DerFault> {
    match algorithm_identifier(&mut Reader::new(der))? {
        (RSASSA_PSS, Parameters::Sequence(parameters)) => pss_parameters(parameters),
        (RSASSA_PSS, _) => Err(DerFault::Parameters),
        _ => Ok(()),
    }
}

fn pss_parameters(parameters: &[u8]) -> Result<(), DerFault> {
    let salt = match parameters.get(PSS_DIGEST) {
        Some(1) => 32,
        Some(2) => 48,
        Some(3) => 64,
        _ => return Err(DerFault::Parameters),
    };
    let wanted = |place: usize, common: u8| match place {
        PSS_DIGEST | PSS_MASK_DIGEST => salt / 16 - 1,
        PSS_SALT => salt,
        _ => common,
    };
    let alike = parameters.len() == PSS_PARAMETERS.len()
        && PSS_PARAMETERS
            .iter()
            .zip(parameters)
            .enumerate()
            .all(|(place, (common, byte))| *byte == wanted(place, *common));
    if alike { Ok(()) } else { Err(DerFault::Parameters) }
}

/// `X509_PUBKEY`: an algorithm and a BIT STRING.
pub(crate) fn subject_public_key_info(der: &[u8]) -> Result<(), DerFault> {
    let mut spki = Reader::new(der).enter(SEQUENCE)?;
    let (oid, parameters) = algorithm_identifier(&mut spki)?;
    let key = whole_bytes(spki.content_of(BIT_STRING)?)?;
    spki.end()?;
    let well_formed = match (oid, parameters) {
        (RSA_ENCRYPTION, Parameters::Null) => return rsa_public_key(key),
        (EC_PUBLIC_KEY, Parameters::Curve(P256)) => is_point(key, 32),
        (EC_PUBLIC_KEY, Parameters::Curve(P384)) => is_point(key, 48),
        (EC_PUBLIC_KEY, Parameters::Curve(P521)) => is_point(key, 66),
        (ED25519, Parameters::Absent) => key.len() == 32,
        (ED448, Parameters::Absent) => key.len() == 57,
        _ => false,
    };
    if well_formed { Ok(()) } else { Err(DerFault::PublicKey) }
}

/// A BIT STRING of whole bytes, as in keys and signatures.
pub(crate) fn whole_bytes(content: &[u8]) -> Result<&[u8], DerFault> {
    match content {
        [0, bytes @ ..] if !bytes.is_empty() => Ok(bytes),
        _ => Err(DerFault::BitString),
    }
}

/// An uncompressed point (SEC 1, 2.3.3).
fn is_point(key: &[u8], coordinate: usize) -> bool {
    key.first() == Some(&0x04) && key.len() == 1 + 2 * coordinate
}

fn rsa_public_key(key: &[u8]) -> Result<(), DerFault> {
    let mut outer = Reader::new(key);
    let mut numbers = outer.enter(SEQUENCE)?;
    outer.end()?;
    positive(numbers.content_of(INTEGER)?, MAX_MODULUS)?;
    positive(numbers.content_of(INTEGER)?, MAX_EXPONENT)?;
    numbers.end()
}

fn positive(content: &[u8], max_len: usize) -> Result<(), DerFault> {
    integer(content)?;
    let digits = match content {
        [0, digits @ ..] => digits,
        [0x80..=0xFF, ..] => return Err(DerFault::PublicKey),
        digits => digits,
    };
    if digits.is_empty() || digits.len() > max_len {
        return Err(DerFault::PublicKey);
    }
    Ok(())
}
