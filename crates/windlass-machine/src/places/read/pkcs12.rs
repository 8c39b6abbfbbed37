//! PKCS#12 (RFC 7292): the format of Java since version 9, and of .NET for each certificate of its stores.
//!
//! Only certificates are read. Keys stay encrypted, and the MAC is ignored: it only proves that the author of the file
//! knew the password. Three passwords are tried: none, the empty one, and the one in Java's documentation.

use ::pkcs12::authenticated_safe::AuthenticatedSafe;
use ::pkcs12::cert_type::CertBag;
use ::pkcs12::kdf::{Pkcs12KeyType, derive_key};
use ::pkcs12::pbe_params::Pkcs12PbeParams;
use ::pkcs12::pfx::Pfx;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipher, BlockDecryptMut, KeyInit, KeyIvInit};
use cms::content_info::ContentInfo;
use cms::encrypted_data::EncryptedData;
use der::asn1::{AnyRef, ContextSpecific, ObjectIdentifier, OctetString};
use der::{Decode, DecodeValue, Encode, FixedTag, Header, Reader, Tag};
use pkcs5::pbes2::{self, Kdf};

use super::{Entry, MAX_CERTIFICATES, Trust, Unreadable, Work};

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const ENCRYPTED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.6");
const CERTIFICATE_BAG: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.10.1.3");
const X509: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.22.1");
const FRIENDLY_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.20");
/// `ORACLE_TrustedKeyUsage`: only an entry with it is trusted in a Java keystore.
const TRUSTED_BY_JAVA: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.113894.746875.1.1");
/// Used by .NET since version 5.
const PBE_SHA1_3DES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.3");
/// Used by .NET Core up to 3.1, and Java up to 15.
const PBE_SHA1_RC2_40: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.6");

/// The bytes that go into the key derivation: for the old scheme UTF-16 with a final NUL, for the new one UTF-8. .NET
/// uses no password, which differs from an empty one (`Pkcs12Kdf.Derive`) in the old scheme only.
const PASSWORDS: [(&[u8], &[u8]); 3] = [(b"", b""), (b"\0\0", b""), (b"\0c\0h\0a\0n\0g\0e\0i\0t\0\0", b"changeit")];

const MALFORMED: Unreadable = Unreadable::Malformed("a PKCS#12 file");

/// All certificates. Entries that Java marks as trusted are anchors; if no entry is marked, all are: .NET does not mark
/// them.
pub fn read(bytes: &[u8], work: &Work) -> Result<Vec<Entry>, Unreadable> {
    let pfx = Pfx::from_der(bytes).map_err(malformed)?;
    if pfx.auth_safe.content_type != DATA {
        return Err(MALFORMED);
    }
    let safes: AuthenticatedSafe<'_> = Vec::from_der(&content(&pfx.auth_safe)?).map_err(malformed)?;
    let mut all = Vec::new();
    for safe in &safes {
        if safe.content_type == DATA {
            bags(&content(safe)?, &mut all)?;
        } else if safe.content_type == ENCRYPTED_DATA {
            encrypted(safe, work, &mut all)?;
        }
    }
    let says_trust = all.iter().any(|entry| entry.trust == Trust::Anchor);
    if !says_trust {
        all.iter_mut().for_each(|entry| entry.trust = Trust::Anchor);
    }
    Ok(all)
}

fn malformed(_: der::Error) -> Unreadable {
    MALFORMED
}

fn content(info: &ContentInfo) -> Result<Vec<u8>, Unreadable> {
    let der = info.content.to_der().map_err(malformed)?;
    Ok(OctetString::from_der(&der).map_err(malformed)?.into_bytes())
}

fn encrypted(safe: &ContentInfo, work: &Work, all: &mut Vec<Entry>) -> Result<(), Unreadable> {
    let data = EncryptedData::from_der(&safe.content.to_der().map_err(malformed)?).map_err(malformed)?;
    let info = data.enc_content_info;
    let Some(cipher_text) = info.encrypted_content else { return Ok(()) };
    let algorithm = info.content_enc_alg;
    let parameters = algorithm.parameters.ok_or(MALFORMED)?.to_der().map_err(malformed)?;
    let before = all.len();
    for (old, new) in PASSWORDS {
        let plain = if algorithm.oid == PBE_SHA1_3DES {
            decrypt_old::<des::TdesEde3>(24, &parameters, old, cipher_text.as_bytes(), work)?
        } else if algorithm.oid == PBE_SHA1_RC2_40 {
            decrypt_old::<rc2::Rc2>(5, &parameters, old, cipher_text.as_bytes(), work)?
        } else if algorithm.oid == pbes2::PBES2_OID {
            decrypt_new(&parameters, new, cipher_text.as_bytes(), work)?
        } else {
            return Err(Unreadable::Encrypted);
        };
        // A wrong password can produce valid padding by chance, once in 256 times.
        if plain.is_some_and(|plain| bags(&plain, all).is_ok()) {
            return Ok(());
        }
        all.truncate(before);
    }
    Err(Unreadable::Encrypted)
}

/// RFC 7292, appendix C, with SHA-1.
fn decrypt_old<C>(
    key_length: usize,
    parameters: &[u8],
    password: &[u8],
    text: &[u8],
    work: &Work,
) -> Result<Option<Vec<u8>>, Unreadable>
where
    C: BlockCipher + BlockDecryptMut + KeyInit,
{
    let parameters = Pkcs12PbeParams::from_der(parameters).map_err(malformed)?;
    let rounds = u64::try_from(parameters.iterations).map_err(|_| MALFORMED)?;
    // At most two hashes for the key, and one for the initialisation vector.
    work.spend(3 * rounds)?;
    let derive = |kind, length| {
        derive_key::<sha1_010::Sha1>(password, parameters.salt.as_bytes(), kind, parameters.iterations, length)
    };
    let (key, vector) = (derive(Pkcs12KeyType::EncryptionKey, key_length), derive(Pkcs12KeyType::Iv, 8));
    let cipher = cbc::Decryptor::<C>::new_from_slices(&key, &vector).map_err(|_| MALFORMED)?;
    Ok(cipher.decrypt_padded_vec_mut::<Pkcs7>(text).ok())
}

/// RFC 8018.
fn decrypt_new(parameters: &[u8], password: &[u8], text: &[u8], work: &Work) -> Result<Option<Vec<u8>>, Unreadable> {
    let parameters = pbes2::Parameters::from_der(parameters).map_err(|_| Unreadable::Encrypted)?;
    match &parameters.kdf {
        Kdf::Pbkdf2(kdf) => work.spend(2 * u64::from(kdf.iteration_count))?,
        // Neither Java nor .NET writes it, and it can ask for any amount of memory.
        _ => return Err(Unreadable::Encrypted),
    }
    Ok(parameters.decrypt(password, text).ok())
}

fn bags(bytes: &[u8], all: &mut Vec<Entry>) -> Result<(), Unreadable> {
    let bags: Vec<Bag<'_>> = Vec::from_der(bytes).map_err(malformed)?;
    for bag in bags.iter().filter(|bag| bag.kind == CERTIFICATE_BAG) {
        let certificate: ContextSpecific<CertBag> = ContextSpecific::from_der(bag.value).map_err(malformed)?;
        if certificate.value.cert_id != X509 {
            continue;
        }
        if all.len() == MAX_CERTIFICATES {
            return Err(Unreadable::TooLarge);
        }
        let trust = if attribute(bag, TRUSTED_BY_JAVA).is_some() { Trust::Anchor } else { Trust::Nothing };
        let label = attribute(bag, FRIENDLY_NAME).map(utf16).unwrap_or_default();
        let der = certificate.value.cert_value.into_bytes();
        all.push(Entry { der, label, trust, added: None });
    }
    Ok(())
}

/// The content of the attribute's first value.
fn attribute<'a>(bag: &Bag<'a>, wanted: ObjectIdentifier) -> Option<&'a [u8]> {
    let attribute = bag.attributes.iter().find(|attribute| attribute.kind == wanted)?;
    attribute.values.first().map(|value| value.value())
}

fn utf16(bytes: &[u8]) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    String::from_utf16_lossy(&pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect::<Vec<_>>())
}

/// A SafeBag (RFC 7292, section 4.2). Its attributes are a set, which DER sorts and keeps free of duplicates. .NET Core
/// violates that: a certificate that it has imported with a key and written to a store has the attribute `localKeyID`
/// twice.
struct Bag<'a> {
    kind: ObjectIdentifier,
    value: &'a [u8],
    attributes: Vec<Attribute<'a>>,
}

struct Attribute<'a> {
    kind: ObjectIdentifier,
    values: Vec<AnyRef<'a>>,
}

impl<'a> DecodeValue<'a> for Bag<'a> {
    fn decode_value<R: Reader<'a>>(reader: &mut R, header: Header) -> der::Result<Self> {
        reader.read_nested(header.length, |reader| {
            let (kind, value) = (reader.decode()?, reader.tlv_bytes()?);
            let attributes = if reader.is_finished() { Vec::new() } else { set(reader)? };
            Ok(Bag { kind, value, attributes })
        })
    }
}

impl FixedTag for Bag<'_> {
    const TAG: Tag = Tag::Sequence;
}

impl<'a> DecodeValue<'a> for Attribute<'a> {
    fn decode_value<R: Reader<'a>>(reader: &mut R, header: Header) -> der::Result<Self> {
        reader.read_nested(header.length, |reader| Ok(Attribute { kind: reader.decode()?, values: set(reader)? }))
    }
}

impl FixedTag for Attribute<'_> {
    const TAG: Tag = Tag::Sequence;
}

/// The elements of a SET, in any order.
fn set<'a, T: Decode<'a>, R: Reader<'a>>(reader: &mut R) -> der::Result<Vec<T>> {
    let header = Header::decode(reader)?;
    header.tag.assert_eq(Tag::Set)?;
    reader.read_nested(header.length, |reader| {
        let mut all = Vec::new();
        while !reader.is_finished() {
            all.push(reader.decode()?);
        }
        Ok(all)
    })
}
