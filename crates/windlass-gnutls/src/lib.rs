//! Certificates that every GnuTLS from 3.7 to 3.8 is known to load.
//!
//! The core's readers accept what every OpenSSL accepts, while GnuTLS has other rules. `gnutls_x509_crt_import`
//! (lib/x509/x509.c, 3.7.9 to 3.8.13) decodes with libtasn1, compares the two signature algorithms, parses alternative
//! names, and checks the extensions; `gnutls_x509_trust_list_add_cas` (lib/x509/verify-high.c) writes to the audit log
//! if a certificate of version 3 is not a CA's. This profile covers the certificates for which the result of all this
//! is known. Every other certificate is outside, whatever GnuTLS does with it.
//!
//! The text around certificates needs no rule. `gnutls_x509_crt_list_import` begins a certificate at each
//! `-----BEGIN CERTIFICATE`, ends it before the next `-----END ` and skips blanks and line ends in between
//! (lib/x509_b64.c), wherever these occur. In a file that the core's reader accepts, the two markers occur only on the
//! first and the last line of a block.
//!
//! A GnuTLS that was built with `--enable-strict-x509` (off by default) refuses more, for example the serial number
//! zero, which some of Mozilla's roots have. This profile is not for it.

#![deny(unsafe_code)]

use windlass::der::{self, BOOLEAN, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, SET};
use windlass::{DerFault, Finding, RootStore, Timestamp, TrustAnchor};

/// The profile of all certificates of a store, as written into compiled stores. Each change of the rules needs a new
/// number: a compiled store holds the result of the rules that it names.
pub const FINDING: Finding = Finding { rules: 1, find: |store| of_certificates(store) as u8 };

/// The known behaviour of GnuTLS with the certificates of a store. GnuTLS reads the same certificates in the same order
/// from the PEM files that the store was made from.
pub fn profile(store: &RootStore) -> GnutlsProfile {
    // These rules can't have produced a number that they don't use.
    GnutlsProfile::from_number(store.finding(&FINDING)).unwrap_or_else(|| of_certificates(store))
}

fn of_certificates(store: &RootStore) -> GnutlsProfile {
    let of = |anchor: TrustAnchor<'_>| of_certificate(anchor.der(), [anchor.not_before(), anchor.not_after()]);
    store.anchors().map(of).min().unwrap_or(GnutlsProfile::Outside)
}

/// The known behaviour of GnuTLS 3.7 to 3.8 with certificates, from worst to best. For several certificates, the worst
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GnutlsProfile {
    /// Unknown.
    Outside,
    /// All are loaded unchanged. Adding one to a trust list that does not have it yet may write a line to the audit
    /// log: "There was a non-CA certificate in the trusted list". The line is invisible in a process without a log
    /// function.
    Audited,
    /// All are loaded unchanged, and nothing is logged.
    Plain,
}

impl GnutlsProfile {
    fn from_number(number: u8) -> Option<GnutlsProfile> {
        [GnutlsProfile::Outside, GnutlsProfile::Audited, GnutlsProfile::Plain].get(usize::from(number)).copied()
    }
}

const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;

/// 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = b"\x55\x1D\x11";
/// 2.5.29.18
const ISSUER_ALT_NAME: &[u8] = b"\x55\x1D\x12";
/// 2.5.29.19
const BASIC_CONSTRAINTS: &[u8] = b"\x55\x1D\x13";

const RFC822_NAME: u8 = 0x81;
const DNS_NAME: u8 = 0x82;
const DIRECTORY_NAME: u8 = 0xA4;
const UNIFORM_RESOURCE_IDENTIFIER: u8 = 0x86;
const IP_ADDRESS: u8 = 0x87;

const UTF8_STRING: u8 = 0x0C;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;

/// Each byte of an OBJECT IDENTIFIER gives up to four characters, and GnuTLS has room for 127 (`MAX_OID_SIZE`).
const MAX_OBJECT_IDENTIFIER: usize = 24;
/// In bytes. libtasn1 computes the parts of an OBJECT IDENTIFIER in integers of a size that has changed between
/// versions.
const MAX_PART: usize = 4;

/// The certificate is outside the profile.
struct Outside;

impl From<DerFault> for Outside {
    fn from(_: DerFault) -> Outside {
        Outside
    }
}

/// The profile of one certificate that the core's walk has accepted. `times` are its notBefore and notAfter.
fn of_certificate(der: &[u8], times: [Timestamp; 2]) -> GnutlsProfile {
    // `_gnutls_check_cert_sanity` refuses times that `mktime_utc` (lib/x509/time.c) can't express; these begin with
    // 1970.
    let are_expressible = times.into_iter().all(|time| time.seconds() >= 0);
    match certificate(der) {
        Ok(is_silent) if are_expressible => {
            if is_silent {
                GnutlsProfile::Plain
            } else {
                GnutlsProfile::Audited
            }
        }
        _ => GnutlsProfile::Outside,
    }
}

/// Whether a certificate is loaded without a log line.
fn certificate(der: &[u8]) -> Result<bool, Outside> {
    let mut certificate = Reader::new(der).enter(SEQUENCE)?;
    let mut tbs = certificate.enter(SEQUENCE)?;
    let outer_algorithm = certificate.content_of(SEQUENCE)?;
    // The walk has checked that the number is the one of version 2 or 3.
    let mut is_version_3 = false;
    if tbs.peek() == Some(VERSION) {
        is_version_3 = tbs.enter(VERSION)?.content_of(INTEGER)? == [2];
    }
    tbs.content_of(INTEGER)?;
    let algorithm = tbs.content_of(SEQUENCE)?;
    // `compare_sig_algorithm` treats NULL like missing parameters. No issuer writes NULL in only one of the two places.
    if algorithm != outer_algorithm {
        return Err(Outside);
    }
    object_identifier(Reader::new(algorithm).content_of(OBJECT_IDENTIFIER)?)?;
    let issuer = tbs.content_of(SEQUENCE)?;
    tbs.content_of(SEQUENCE)?;
    let subject = tbs.content_of(SEQUENCE)?;
    // The identifiers in it are among the few that the walk accepts.
    tbs.content_of(SEQUENCE)?;
    name(subject, any_value)?;
    if issuer != subject {
        name(issuer, any_value)?;
    }
    if is_version_3 && !tbs.is_empty() { extensions(&mut tbs) } else { Ok(!is_version_3) }
}

/// A RDNSequence. An empty one leaves nothing for `asn1_der_decoding_startEnd` to find, and an empty RDN leaves nothing
/// for `_gnutls_x509_get_dn`.
fn name(rdns: &[u8], value: fn(&mut Reader<'_>) -> Result<(), Outside>) -> Result<(), Outside> {
    let mut rdns = Reader::new(rdns);
    if rdns.is_empty() {
        return Err(Outside);
    }
    while !rdns.is_empty() {
        let mut rdn = rdns.enter(SET)?;
        if rdn.is_empty() {
            return Err(Outside);
        }
        while !rdn.is_empty() {
            let mut attribute = rdn.enter(SEQUENCE)?;
            object_identifier(attribute.content_of(OBJECT_IDENTIFIER)?)?;
            value(&mut attribute)?;
        }
    }
    Ok(())
}

/// libtasn1 does not decode the value (ANY), and nothing asks for the text of subject and issuer.
fn any_value(_: &mut Reader<'_>) -> Result<(), Outside> {
    Ok(())
}

/// Whether the extensions are those of a CA certificate.
fn extensions(tbs: &mut Reader<'_>) -> Result<bool, Outside> {
    let mut is_ca = false;
    let mut list = tbs.enter(EXTENSIONS)?.enter(SEQUENCE)?;
    while !list.is_empty() {
        let mut extension = list.enter(SEQUENCE)?;
        let oid = extension.content_of(OBJECT_IDENTIFIER)?;
        object_identifier(oid)?;
        if extension.peek() == Some(BOOLEAN) {
            extension.content_of(BOOLEAN)?;
        }
        match oid {
            BASIC_CONSTRAINTS => is_ca = is_of_ca(extension.content_of(OCTET_STRING)?)?,
            SUBJECT_ALT_NAME | ISSUER_ALT_NAME => alternative_names(extension.content_of(OCTET_STRING)?)?,
            _ => {}
        }
    }
    Ok(is_ca)
}

/// `gnutls_x509_crt_get_ca_status`. The walk has checked that a path length, if present, has up to four bytes.
fn is_of_ca(constraints: &[u8]) -> Result<bool, Outside> {
    let mut constraints = Reader::new(constraints).enter(SEQUENCE)?;
    Ok(constraints.peek() == Some(BOOLEAN) && constraints.content_of(BOOLEAN)? == [0xFF])
}

/// `gnutls_x509_ext_import_subject_alt_names`: no name may be empty. Only the common types are accepted, with printable
/// characters only.
fn alternative_names(value: &[u8]) -> Result<(), Outside> {
    let mut value = Reader::new(value);
    let mut names = value.enter(SEQUENCE)?;
    value.end()?;
    if names.is_empty() {
        return Err(Outside);
    }
    while !names.is_empty() {
        let (tag, _, content) = names.element()?;
        let content = names.bytes(content);
        match tag {
            RFC822_NAME | DNS_NAME | UNIFORM_RESOURCE_IDENTIFIER => printable(content)?,
            IP_ADDRESS if matches!(content.len(), 4 | 16) => {}
            DIRECTORY_NAME => {
                // Tagged explicitly, because it is a CHOICE.
                let mut explicit = Reader::new(content);
                name(explicit.content_of(SEQUENCE)?, printable_value)?;
                explicit.end()?;
            }
            _ => return Err(Outside),
        }
    }
    Ok(())
}

/// `_gnutls_x509_get_dn` converts this value to text.
fn printable_value(attribute: &mut Reader<'_>) -> Result<(), Outside> {
    let (tag, _, content) = attribute.element()?;
    attribute.end()?;
    match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING => printable(attribute.bytes(content)),
        _ => Err(Outside),
    }
}

fn printable(text: &[u8]) -> Result<(), Outside> {
    if !text.is_empty() && text.iter().all(|byte| matches!(byte, b' '..=b'~')) { Ok(()) } else { Err(Outside) }
}

/// `asn1_get_object_id_der` converts each to text. The walk has not checked those in an issuer's alternative name.
fn object_identifier(content: &[u8]) -> Result<(), Outside> {
    // Nearly all are 2.5.4.x or 2.5.29.x.
    if let [0x55, 0x04 | 0x1D, 0x00..=0x7F] = content {
        return Ok(());
    }
    der::object_identifier(content)?;
    let mut part = 0;
    for byte in content {
        part += 1;
        if part > MAX_PART {
            return Err(Outside);
        }
        if byte & 0x80 == 0 {
            part = 0;
        }
    }
    if content.len() <= MAX_OBJECT_IDENTIFIER { Ok(()) } else { Err(Outside) }
}
