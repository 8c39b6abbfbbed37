//! One file in any of the formats: p11-kit's own, DER, or PEM. As in p11-kit, the next format is tried if a file is not
//! in the previous one, even if it looked like it.

use windlass::Unsupported;
use windlass::der::{Reader, SEQUENCE};

use super::{Standing, object, pem, persist, text, trusted_certificate};
use crate::{Description, Sayings, is_certificate};

/// Adds the statements of the file; none if it is in none of the formats. Unreadable parts that may remove trust are
/// marked ([`Sayings::refuse`]), and the rest is added nevertheless: some of it may be distrust.
pub(super) fn read(bytes: &[u8], standing: Standing, all: &mut Sayings) {
    if persist::is_persist(bytes) {
        let (objects, is_understood) = persist::read(bytes);
        if !is_understood {
            all.refuse(Unsupported::Distrust);
        }
        if let Some(objects) = objects {
            object::add_all(&objects, is_understood, standing, all);
            if is_understood {
                return;
            }
        }
    }
    if is_certificate(bytes) {
        add(Description { der: Some(bytes.into()), ..Description::default() }, standing, all);
        return;
    }
    if may_be_a_certificate(bytes) {
        // At most one anchor more or less: p11-kit may read it. It may also read the rest, if that looks like PEM.
        match standing {
            Standing::Anchor | Standing::AsSaid if pem::blocks(bytes).is_empty() => all.has_unread = true,
            _ => all.refuse(Unsupported::Distrust),
        }
    }
    for block in pem::blocks(text(bytes)) {
        add_block(&block, standing, all);
    }
}

fn add_block(block: &pem::Block<'_>, standing: Standing, all: &mut Sayings) {
    let content = block.content.as_slice();
    match block.kind {
        b"CERTIFICATE" if is_certificate(content) => {
            add(Description { der: Some(content.into()), ..Description::default() }, standing, all);
        }
        b"CERTIFICATE" if may_be_a_certificate(content) => match standing {
            Standing::Blocked => all.refuse(Unsupported::Distrust),
            Standing::Anchor | Standing::AsSaid => all.has_unread = true,
        },
        b"TRUSTED CERTIFICATE" => match trusted_certificate::read(content, all) {
            Some(description) => add(description, standing, all),
            None if outer_length(content).is_some() => {
                all.refuse(Unsupported::Distrust);
                // Its trust settings can't be read, and may say that it is trusted for nothing.
                let mut reader = Reader::new(content);
                let der = reader.element_of(SEQUENCE).ok().map(|(whole, _)| reader.bytes(whole));
                if let Some(der) = der.filter(|der| is_certificate(der)) {
                    let distrusted = Description { der: Some(der.into()), distrusted: true, ..Description::default() };
                    add(distrusted, standing, all);
                }
            }
            None => {}
        },
        _ => {}
    }
}

/// Adds a certificate with the trust that its location gives it (`populate_trust`, trust/parser.c).
pub(super) fn add(mut description: Description, standing: Standing, all: &mut Sayings) {
    (description.trusted, description.distrusted) = match standing {
        Standing::Anchor if description.distrusted => (description.trusted, true),
        Standing::Anchor => (true, false),
        Standing::Blocked => (false, true),
        Standing::AsSaid => (description.trusted, description.distrusted),
    };
    all.certificates.push(description);
}

/// Whether p11-kit's BER reader might find exactly one certificate there: a SEQUENCE that begins with a SEQUENCE and
/// ends with the bytes. Lengths may be in any form.
fn may_be_a_certificate(bytes: &[u8]) -> bool {
    match outer_length(bytes) {
        None => false,
        Some(Length::To(end)) => end == bytes.len() && holds_a_sequence(bytes),
        Some(Length::Indefinite) => true,
    }
}

/// The length of the SEQUENCE at the beginning of the bytes.
#[derive(Debug, PartialEq, Eq)]
enum Length {
    To(usize),
    Indefinite,
}

/// None if there is no SEQUENCE, or if it extends beyond the bytes (`asn1_get_length_der`, libtasn1).
fn outer_length(bytes: &[u8]) -> Option<Length> {
    let [0x30, first, rest @ ..] = bytes else { return None };
    let (len, header) = match *first {
        short @ 0..=0x7F => (usize::from(short), 2),
        0x80 => return Some(Length::Indefinite),
        long => {
            // Missing octets count for nothing.
            let octets = rest.get(..usize::from(long & 0x7F)).unwrap_or(rest);
            let len =
                octets.iter().try_fold(0usize, |len, octet| len.checked_mul(256)?.checked_add(usize::from(*octet)));
            (len?, 2 + octets.len())
        }
    };
    let end = header.checked_add(len)?;
    (end <= bytes.len()).then_some(Length::To(end))
}

/// Whether the first element inside is a SEQUENCE, or there is no element.
fn holds_a_sequence(bytes: &[u8]) -> bool {
    let header = match bytes.get(1) {
        Some(long @ 0x81..) => 2 + usize::from(long & 0x7F),
        _ => 2,
    };
    bytes.get(header).is_none_or(|tag| *tag == 0x30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_of_ber_might_take() {
        for maybe in [
            &b"\x30\x80\x30\x00\x00\x00"[..],
            b"\x30\x02\x30\x00",
            b"\x30\x81\x02\x30\x00",
            b"\x30\x85\x00\x00\x00\x00\x02\x30\x00",
            b"\x30\x00",
        ] {
            assert!(may_be_a_certificate(maybe), "{}", maybe.escape_ascii());
        }
        for none in [
            &b""[..],
            b"\x30",
            b"0 text\n",
            b"\x30\x02\x30\x00\n",
            b"\x30\x03\x30\x00",
            b"\x30\x02\x02\x00",
            b"\x30\x89\x01\x00\x00\x00\x00\x00\x00\x00\x02\x30\x00",
        ] {
            assert!(!may_be_a_certificate(none), "{}", none.escape_ascii());
        }
    }
}
