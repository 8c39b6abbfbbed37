//! Certificates that p11-kit reads too: the DER subset of what libtasn1 accepts as `PKIX1.Certificate` (p11-kit,
//! common/pkix.asn). libtasn1 also accepts BER, and empty lists in place of mandatory parts; this reader does not,
//! because it must never see an anchor where p11-kit sees none.

use windlass::DerFault;
use windlass::der::{
    BIT_STRING, BOOLEAN, GENERALIZED_TIME, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, SET, UTC_TIME,
    object_identifier,
};

const VERSION: u8 = 0xA0;
/// The two unique identifiers of X.509 version 2.
const UNIQUE_IDENTIFIERS: [u8; 2] = [0x81, 0x82];
const EXTENSIONS: u8 = 0xA3;

/// The bits set in all tags of several bytes, and in no other.
const LONG_TAG: u8 = 0x1F;
/// libtasn1 stores a part of an object identifier in 64 bits.
const MAX_PART: usize = 9;

/// Whether the bytes are exactly one certificate.
pub(crate) fn is_certificate(der: &[u8]) -> bool {
    certificate(&mut Reader::new(der)).is_ok()
}

/// Whether the bytes are exactly one Extension.
pub(crate) fn is_extension(der: &[u8]) -> bool {
    let mut reader = Reader::new(der);
    extension(&mut reader).is_ok() && reader.is_empty()
}

/// Reads an AlgorithmIdentifier.
pub(crate) fn is_algorithm(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let mut algorithm = reader.enter(SEQUENCE)?;
    oid(&mut algorithm)?;
    if !algorithm.is_empty() {
        any(&mut algorithm)?;
    }
    algorithm.end()
}

fn certificate(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let mut certificate = reader.enter(SEQUENCE)?;
    reader.end()?;
    to_be_signed(&mut certificate)?;
    is_algorithm(&mut certificate)?;
    bits(&mut certificate)?;
    certificate.end()
}

fn to_be_signed(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let mut tbs = reader.enter(SEQUENCE)?;
    if tbs.peek() == Some(VERSION) {
        let mut version = tbs.enter(VERSION)?;
        integer(&mut version)?;
        version.end()?;
    }
    integer(&mut tbs)?;
    is_algorithm(&mut tbs)?;
    name(&mut tbs)?;
    let mut validity = tbs.enter(SEQUENCE)?;
    time(&mut validity)?;
    time(&mut validity)?;
    validity.end()?;
    name(&mut tbs)?;
    let mut key = tbs.enter(SEQUENCE)?;
    is_algorithm(&mut key)?;
    bits(&mut key)?;
    key.end()?;
    for tag in UNIQUE_IDENTIFIERS {
        if tbs.peek() == Some(tag) {
            tbs.content_of(tag)?;
        }
    }
    if tbs.peek() == Some(EXTENSIONS) {
        let mut explicit = tbs.enter(EXTENSIONS)?;
        let mut list = explicit.enter(SEQUENCE)?;
        explicit.end()?;
        while !list.is_empty() {
            extension(&mut list)?;
        }
    }
    tbs.end()
}

fn extension(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let mut extension = reader.enter(SEQUENCE)?;
    oid(&mut extension)?;
    if extension.peek() == Some(BOOLEAN) && extension.content_of(BOOLEAN)?.len() != 1 {
        return Err(DerFault::Boolean);
    }
    extension.content_of(OCTET_STRING)?;
    extension.end()
}

fn name(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let mut name = reader.enter(SEQUENCE)?;
    while !name.is_empty() {
        let mut rdn = name.enter(SET)?;
        loop {
            let mut pair = rdn.enter(SEQUENCE)?;
            oid(&mut pair)?;
            any(&mut pair)?;
            pair.end()?;
            if rdn.is_empty() {
                break;
            }
        }
    }
    Ok(())
}

fn time(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    match reader.element()? {
        // `_asn1_get_time_der`: at most the size of its buffer, and at least eight.
        (UTC_TIME | GENERALIZED_TIME, _, content) if (8..=127).contains(&content.len) => Ok(()),
        _ => Err(DerFault::Time),
    }
}

fn integer(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    if reader.content_of(INTEGER)?.is_empty() { Err(DerFault::Integer) } else { Ok(()) }
}

fn bits(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    if reader.content_of(BIT_STRING)?.is_empty() { Err(DerFault::BitString) } else { Ok(()) }
}

fn oid(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let content = reader.content_of(OBJECT_IDENTIFIER)?;
    object_identifier(content)?;
    // Each part ends with a byte without the high bit.
    let mut parts = content.split_inclusive(|byte| byte & 0x80 == 0);
    if parts.any(|part| part.len() > MAX_PART) { Err(DerFault::ObjectIdentifier) } else { Ok(()) }
}

fn any(reader: &mut Reader<'_>) -> Result<(), DerFault> {
    let (tag, ..) = reader.element()?;
    if tag & LONG_TAG == LONG_TAG { Err(DerFault::UnexpectedTag) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element;

    fn with(serial: &[u8], time: &[u8], tail: &[u8]) -> Vec<u8> {
        let algorithm = element(SEQUENCE, b"\x06\x03\x2B\x65\x70");
        let name = element(SEQUENCE, &element(SET, &element(SEQUENCE, b"\x06\x03\x55\x04\x03\x0C\x01x")));
        let bits = element(BIT_STRING, &[0, 7]);
        let validity = element(SEQUENCE, &[element(UTC_TIME, time), element(UTC_TIME, time)].concat());
        let key = element(SEQUENCE, &[algorithm.clone(), bits.clone()].concat());
        let serial = element(INTEGER, serial);
        let tbs = [&serial, &algorithm, &name, &validity, &name, &key, &tail.to_vec()].map(Vec::as_slice).concat();
        element(SEQUENCE, &[element(SEQUENCE, &tbs), algorithm, bits].concat())
    }

    #[test]
    fn certificates_and_what_is_none() {
        let time = b"250101000000Z";
        let list = |extension: &[u8]| element(EXTENSIONS, &element(SEQUENCE, extension));
        let extension = element(SEQUENCE, b"\x06\x03\x55\x1D\x0F\x01\x01\xFF\x04\x02\x03\x00");
        assert!(is_extension(&extension) && !is_extension(&[&extension[..], b"\n"].concat()));
        for good in
            [with(&[7], time, b""), with(&[7], time, &list(&extension)), with(&[7], time, b"\x81\x02\x00\x01\x82\x00")]
        {
            assert!(is_certificate(&good));
            for end in 0..good.len() {
                assert!(!is_certificate(&good[..end]), "{end}");
            }
            assert!(!is_certificate(&[&good[..], b"\n"].concat()));
        }
        for bad in [
            with(b"", time, b""),
            with(&[7], b"2501", b""),
            with(&[7], time, b"\x82\x00\x81\x00"),
            with(&[7], time, b"\x05\x00"),
            with(&[7], time, &list(b"\x05\x00")),
            with(&[7], time, &list(&element(SEQUENCE, b"\x06\x03\x55\x1D\x80\x04\x00"))),
            with(&[7], time, &list(&element(SEQUENCE, b"\x06\x03\x55\x1D\x0F\x01\x02\xFF\xFF\x04\x00"))),
            with(&[7], time, &list(&element(SEQUENCE, b"\x06\x03\x55\x1D\x0F\x04\x81\x01\x00"))),
        ] {
            assert!(!is_certificate(&bad), "{}", bad.escape_ascii());
        }
    }
}
