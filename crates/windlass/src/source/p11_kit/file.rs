//! One file, in whichever format it is: p11-kit's own, DER, or PEM. As p11-kit does, the next format is tried when a file is
//! not in the one before, also when it only looked like it.

use super::trusted_certificate;
use super::{Standing, object, pem, persist};
use crate::error::Unsupported;
use crate::trust::{Description, Parts, Sayings};

/// Adds what the file says. Nothing if it is in none of the formats.
pub(super) fn read(bytes: &[u8], standing: Standing, all: &mut Sayings) -> Result<(), Unsupported> {
    if persist::is_persist(bytes)
        && let Some(objects) = persist::read(bytes)
    {
        for fields in objects {
            object::add(fields, standing, all)?;
        }
        return Ok(());
    }
    if Parts::read(bytes).is_ok() {
        add(Description { der: Some(bytes.into()), ..Description::default() }, standing, all);
        return Ok(());
    }
    let blocks = pem::blocks(bytes);
    if blocks.is_empty() && standing == Standing::Blocked && may_be_a_certificate(bytes) {
        return Err(Unsupported::Distrust);
    }
    for block in blocks {
        let description = match block.kind {
            b"CERTIFICATE" if Parts::read(&block.content).is_ok() => {
                Some(Description { der: Some(block.content.as_slice().into()), ..Description::default() })
            }
            b"TRUSTED CERTIFICATE" => trusted_certificate::read(&block.content, all),
            _ => None,
        };
        let takes_away = match block.kind {
            b"CERTIFICATE" => standing == Standing::Blocked,
            b"TRUSTED CERTIFICATE" => true,
            _ => false,
        };
        match description {
            Some(description) => add(description, standing, all),
            None if takes_away && may_be_a_certificate(&block.content) => return Err(Unsupported::Distrust),
            None => {}
        }
    }
    Ok(())
}

/// Adds a certificate with what lying in this place means for it (`populate_trust`, trust/parser.c).
pub(super) fn add(mut description: Description, standing: Standing, all: &mut Sayings) {
    (description.trusted, description.distrusted) = match standing {
        Standing::Anchor if description.distrusted => (description.trusted, true),
        Standing::Anchor => (true, false),
        Standing::Blocked => (false, true),
        Standing::AsSaid => (description.trusted, description.distrusted),
    };
    all.certificates.push(description);
}

/// Whether p11-kit's reader of BER might find a certificate there: whether it begins as a SEQUENCE, and not as text.
pub(super) fn may_be_a_certificate(bytes: &[u8]) -> bool {
    matches!(bytes, [0x30, 0x80..=0x84, ..])
}
