//! Purposes, key uses, and the verdicts on them.

use windlass::der::{BIT_STRING, OBJECT_IDENTIFIER, Reader, SEQUENCE};

/// A purpose that a certificate may be trusted for. Each is an extended key usage of RFC 5280 or RFC 4945.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the extended key usages")]
pub enum Purpose {
    ServerAuth,
    ClientAuth,
    CodeSigning,
    EmailProtection,
    IpsecEndSystem,
    IpsecTunnel,
    IpsecUser,
    TimeStamping,
    OcspSigning,
    IpsecIke,
}

impl Purpose {
    /// All purposes, in the order in which verdicts are stored. The first eight are in the order of NSS's attributes
    /// for them (from `CKA_TRUST_SERVER_AUTH`, nss/pkcs11n.h).
    pub const ALL: [Purpose; 10] = [
        Purpose::ServerAuth,
        Purpose::ClientAuth,
        Purpose::CodeSigning,
        Purpose::EmailProtection,
        Purpose::IpsecEndSystem,
        Purpose::IpsecTunnel,
        Purpose::IpsecUser,
        Purpose::TimeStamping,
        Purpose::OcspSigning,
        Purpose::IpsecIke,
    ];

    /// Content of the object identifier, below id-kp (1.3.6.1.5.5.7.3).
    pub(crate) fn oid(self) -> [u8; 8] {
        let last = match self {
            Purpose::ServerAuth => 1,
            Purpose::ClientAuth => 2,
            Purpose::CodeSigning => 3,
            Purpose::EmailProtection => 4,
            Purpose::IpsecEndSystem => 5,
            Purpose::IpsecTunnel => 6,
            Purpose::IpsecUser => 7,
            Purpose::TimeStamping => 8,
            Purpose::OcspSigning => 9,
            Purpose::IpsecIke => 17,
        };
        [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, last]
    }
}

/// A use of a certificate's key: the bits of the extension keyUsage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of RFC 5280, 4.2.1.3")]
pub enum KeyUse {
    DigitalSignature,
    NonRepudiation,
    KeyEncipherment,
    DataEncipherment,
    KeyAgreement,
    KeyCertSign,
    CrlSign,
}

impl KeyUse {
    /// All uses, from the first bit on.
    pub const ALL: [KeyUse; 7] = [
        KeyUse::DigitalSignature,
        KeyUse::NonRepudiation,
        KeyUse::KeyEncipherment,
        KeyUse::DataEncipherment,
        KeyUse::KeyAgreement,
        KeyUse::KeyCertSign,
        KeyUse::CrlSign,
    ];

    fn bit(self) -> u8 {
        0x80 >> self as u8
    }
}

/// A verdict on a certificate for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// No verdict.
    #[default]
    Unknown,
    /// No verdict, and no other source's verdict counts: a chain to an anchor is needed.
    MustVerify,
    /// The certificate itself is trusted, but not the certificates that it issues.
    Trusted,
    /// It is a trust anchor.
    Anchor,
    /// Neither it nor the certificates that it issues are to be trusted.
    Distrusted,
}

impl Verdict {
    /// How much trust it gives, as a number for comparisons.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Verdict::Distrusted => 0,
            Verdict::MustVerify => 1,
            Verdict::Unknown => 2,
            Verdict::Trusted => 3,
            Verdict::Anchor => 4,
        }
    }
}

/// The object identifiers (contents) of an ExtKeyUsageSyntax or a similar list. None if it is not such a list.
pub(crate) fn purposes(der: &[u8]) -> Option<Vec<&[u8]>> {
    let mut outer = Reader::new(der);
    let mut list = outer.enter(SEQUENCE).ok()?;
    outer.end().ok()?;
    let mut found = Vec::new();
    while !list.is_empty() {
        found.push(list.content_of(OBJECT_IDENTIFIER).ok()?);
    }
    Some(found)
}

/// The first eight bits of a KeyUsage. None if it is not a KeyUsage.
pub(crate) fn key_uses(der: &[u8]) -> Option<u8> {
    let mut outer = Reader::new(der);
    let bits = outer.content_of(BIT_STRING).ok()?;
    outer.end().ok()?;
    // p11-kit has room for two bytes (`p11_x509_parse_key_usage`).
    match bits {
        [0..=7] => Some(0),
        [0..=7, first] | [0..=7, first, _] => Some(*first),
        _ => None,
    }
}

/// The result of p11-kit's `build_trust_object_eku` for a certificate's trust and two lists of purposes: those that it
/// is limited to, and those that are refused.
pub(crate) fn for_purpose(
    purpose: Purpose,
    allow: Verdict,
    purposes: Option<&[&[u8]]>,
    rejects: Option<&[&[u8]]>,
) -> Verdict {
    let oid = purpose.oid();
    let names = |list: Option<&[&[u8]]>| list.is_some_and(|list| list.contains(&oid.as_slice()));
    if names(rejects) {
        Verdict::Distrusted
    } else if names(purposes) || allow == Verdict::Distrusted || (purposes.is_none() && rejects.is_none()) {
        allow
    } else {
        Verdict::Unknown
    }
}

/// The result of p11-kit's `build_trust_object_ku` for a certificate's trust and its extension keyUsage: without the
/// extension, or if everything is distrusted, the same for all uses.
pub(crate) fn for_key_use(key_use: KeyUse, allow: Verdict, extension: Option<&[u8]>) -> Verdict {
    match extension {
        Some(value) if allow != Verdict::Distrusted => {
            // An unreadable extension allows nothing.
            if key_uses(value).unwrap_or(0) & key_use.bit() != 0 { allow } else { Verdict::Unknown }
        }
        _ => allow,
    }
}

/// Content of the object identifier in dotted notation. None if the text is invalid.
pub(crate) fn oid_of(text: &str) -> Option<Vec<u8>> {
    let mut numbers = text.split('.').map(|part| part.parse::<u64>().ok().filter(|_| !part.starts_with('+')));
    let (first, second) = (numbers.next()??, numbers.next()??);
    if first > 2 || (first < 2 && second > 39) {
        return None;
    }
    let mut out = Vec::new();
    base_128(first.checked_mul(40)?.checked_add(second)?, &mut out);
    for number in numbers {
        base_128(number?, &mut out);
    }
    Some(out)
}

fn base_128(number: u64, out: &mut Vec<u8>) {
    let parts = (u64::BITS - number.leading_zeros()).div_ceil(7).max(1);
    for part in (0..parts).rev() {
        let more = if part == 0 { 0 } else { 0x80 };
        out.push((number >> (7 * part)) as u8 & 0x7F | more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &[u8] = b"\x2B\x06\x01\x05\x05\x07\x03\x01";

    #[test]
    fn object_identifiers_from_text() {
        assert_eq!(oid_of("2.5.29.37"), Some(b"\x55\x1D\x25".to_vec()));
        assert_eq!(oid_of("1.3.6.1.5.5.7.3.1"), Some(SERVER.to_vec()));
        assert_eq!(oid_of("1.3.6.1.4.1.3319.6.10.1"), Some(b"\x2B\x06\x01\x04\x01\x99\x77\x06\x0A\x01".to_vec()));
        for text in ["", "1", "3.1", "1.40", "1.2.", "1.2.x", "1.2.-3", "1.+2", "1.2.99999999999999999999"] {
            assert_eq!(oid_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_of_purposes_limits_and_another_refuses() {
        let of = |purpose, purposes, rejects| for_purpose(purpose, Verdict::Anchor, purposes, rejects);
        let server = [SERVER];
        let (server, none): (Option<&[&[u8]]>, _) = (Some(&server), Some(&[][..]));
        assert_eq!(of(Purpose::ServerAuth, None, None), Verdict::Anchor);
        assert_eq!(of(Purpose::ServerAuth, server, None), Verdict::Anchor);
        assert_eq!(of(Purpose::CodeSigning, server, None), Verdict::Unknown);
        assert_eq!(of(Purpose::ServerAuth, none, None), Verdict::Unknown);
        assert_eq!(of(Purpose::ServerAuth, server, server), Verdict::Distrusted);
        assert_eq!(of(Purpose::CodeSigning, None, server), Verdict::Unknown);
        assert_eq!(for_purpose(Purpose::CodeSigning, Verdict::Distrusted, server, None), Verdict::Distrusted);
    }

    #[test]
    fn bits_of_the_key_usage() {
        let sign = Some(&b"\x03\x02\x01\x06"[..]);
        assert_eq!(for_key_use(KeyUse::KeyCertSign, Verdict::Anchor, sign), Verdict::Anchor);
        assert_eq!(for_key_use(KeyUse::CrlSign, Verdict::Anchor, sign), Verdict::Anchor);
        assert_eq!(for_key_use(KeyUse::DigitalSignature, Verdict::Anchor, sign), Verdict::Unknown);
        assert_eq!(for_key_use(KeyUse::DigitalSignature, Verdict::Anchor, None), Verdict::Anchor);
        assert_eq!(for_key_use(KeyUse::DigitalSignature, Verdict::Distrusted, sign), Verdict::Distrusted);
        assert_eq!(for_key_use(KeyUse::KeyCertSign, Verdict::Anchor, Some(b"\x04\x00")), Verdict::Unknown);
    }
}
