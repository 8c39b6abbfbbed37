//! GeneralName (RFC 5280, 4.2.1.6), limited to the forms that CAs use and every libcrypto decodes.

use crate::der::{OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, Span, object_identifier};
use crate::error::DerFault;
use crate::name::Canonicaliser;

const OTHER_NAME: u8 = 0xA0;
const RFC822_NAME: u8 = 0x81;
const DNS_NAME: u8 = 0x82;
const DIRECTORY_NAME: u8 = 0xA4;
const UNIFORM_RESOURCE_IDENTIFIER: u8 = 0x86;
const IP_ADDRESS: u8 = 0x87;
const REGISTERED_ID: u8 = 0x88;

/// The value of an otherName is explicitly tagged.
const VALUE: u8 = 0xA0;

const UTF8_STRING: u8 = 0x0C;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;

/// GeneralNames without its own tag: one or more names.
pub(crate) fn general_names(mut names: Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    if names.is_empty() {
        return Err(DerFault::ExtensionValue);
    }
    while !names.is_empty() {
        general_name(&mut names, canonicaliser)?;
    }
    Ok(())
}

/// One GeneralName. `asn1_ex_c2i` checks the content of none of the strings accepted here.
pub(crate) fn general_name(reader: &mut Reader<'_>, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    let (tag, _, content) = reader.element()?;
    match tag {
        RFC822_NAME | DNS_NAME | UNIFORM_RESOURCE_IDENTIFIER | IP_ADDRESS => Ok(()),
        REGISTERED_ID => object_identifier(reader.bytes(content)),
        DIRECTORY_NAME => directory_name(reader, content, canonicaliser),
        OTHER_NAME => other_name(reader.inside(content)),
        _ => Err(DerFault::ExtensionValue),
    }
}

/// A CHOICE is tagged explicitly, and Name is a CHOICE.
fn directory_name(reader: &Reader<'_>, content: Span, canonicaliser: &mut Canonicaliser) -> Result<(), DerFault> {
    canonicaliser.check(reader.bytes(content)).map_err(DerFault::Name)
}

/// The value may be anything; types that `asn1_ex_c2i` accepts with any content are accepted here.
fn other_name(mut name: Reader<'_>) -> Result<(), DerFault> {
    object_identifier(name.content_of(OBJECT_IDENTIFIER)?)?;
    let mut value = name.enter(VALUE)?;
    name.end()?;
    let (tag, _, _) = value.element()?;
    value.end()?;
    match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING | OCTET_STRING | SEQUENCE => Ok(()),
        _ => Err(DerFault::ExtensionValue),
    }
}
