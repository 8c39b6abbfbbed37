//! The relevant fields of a certificate, and whether it looks as if it was made for a test.

use sha1::Sha1;
use sha2::{Digest, Sha256};
use windlass::{CanonicalName, RawName, SubjectHash, Timestamp, subject_hash_old};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::anchors::authority::is_ca;
use crate::anchors::name::Name;

/// The extension that marks ASP.NET Core's development certificates (`CertificateManager.AspNetHttpsOid`).
const ASPNET_DEVELOPMENT: &str = "1.3.6.1.4.1.311.84.1.1";

/// Names that no public authority certifies, and that tests and tools use in certificates: RFC 6761, RFC 2606.
const RESERVED: [&str; 7] = ["localhost", "test", "example", "invalid", "example.com", "example.org", "example.net"];
/// Words that mark a name as one for testing.
const WORDS: [&str; 10] =
    ["test", "tests", "testing", "dev", "development", "debug", "dummy", "fake", "sample", "snakeoil"];

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// SHA-256 of the whole certificate.
    pub sha256: [u8; 32],
    /// The subject, DER.
    pub subject: Box<[u8]>,
    /// The part of the subject that people recognise.
    pub name: String,
    /// SHA-1 of the public key (RFC 5280, 4.2.1.2, method 1): what the subject key identifier usually is, but computed,
    /// as the extension may say anything.
    pub key: [u8; 20],
    /// The first second in which it is valid.
    pub not_before: Timestamp,
    /// The last second in which it is valid.
    pub not_after: Timestamp,
    /// Whether subject and issuer are the same.
    pub is_self_issued: bool,
    /// Whether basic constraints allow it to issue others; version 1 has none, and counts as allowed.
    pub is_authority: bool,
    /// Whether it can vouch for others, by the rules of `X509_check_ca` (OpenSSL, crypto/x509/v3_purp.c).
    pub is_ca: bool,
    /// See [`Certificate::test_like`].
    pub(super) test: Option<TestLike>,
}

/// Why a certificate looks as if it was made for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestLike {
    /// `dotnet dev-certs` made it.
    AspNet,
    /// It is for a name that is reserved for tests or for this machine.
    ReservedName,
    /// Its name contains a word for testing.
    Word,
    /// It is self-signed, and may not issue others.
    SelfSignedLeaf,
}

impl TestLike {
    /// The reason, as a clause.
    pub fn reason(self) -> &'static str {
        match self {
            TestLike::AspNet => "a development certificate of ASP.NET Core",
            TestLike::ReservedName => "for a name that is reserved for tests",
            TestLike::Word => "its name says that it is for tests",
            TestLike::SelfSignedLeaf => "a server's certificate that certifies itself",
        }
    }
}

impl Certificate {
    /// Reads the relevant fields. None: the bytes are not a certificate.
    pub fn of(der: &[u8]) -> Option<Certificate> {
        let (rest, parsed) = X509Certificate::from_der(der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let subject = RawName::from_der(parsed.subject().as_raw()).ok()?;
        let name = Name::of(subject).short;
        let is_self_issued = parsed.subject().as_raw() == parsed.issuer().as_raw();
        let is_authority = parsed.is_ca() || parsed.version.0 == 0;
        Some(Certificate {
            sha256: Sha256::digest(der).into(),
            subject: parsed.subject().as_raw().into(),
            key: Sha1::digest(&parsed.public_key().subject_public_key.data).into(),
            not_before: Timestamp(parsed.validity().not_before.timestamp()),
            not_after: Timestamp(parsed.validity().not_after.timestamp()),
            is_self_issued,
            is_authority,
            is_ca: is_ca(&parsed),
            test: test_like(&parsed, &name, is_self_issued, is_authority),
            name,
        })
    }

    /// Whether its validity has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.not_after < now
    }

    /// Whether its validity has not begun.
    pub fn is_not_yet_valid(&self, now: Timestamp) -> bool {
        self.not_before > now
    }

    /// The hash that names it in a hashed directory; None for a subject that is too unusual.
    pub fn subject_hash(&self) -> Option<SubjectHash> {
        let raw = RawName::from_der(&self.subject).ok()?;
        CanonicalName::from_raw(raw).ok().map(|name| name.subject_hash())
    }

    /// The hash that names it in a directory for OpenSSL before 1.0.0.
    pub fn subject_hash_old(&self) -> Option<SubjectHash> {
        RawName::from_der(&self.subject).ok().map(subject_hash_old)
    }

    /// The day on which its validity ends, as `2031-05-25`.
    pub fn expiry_date(&self) -> String {
        let text = self.not_after.to_string();
        text.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Whether, and why, it looks as if it was made for a test. docs/prune.md has the rule.
    pub fn test_like(&self) -> Option<TestLike> {
        self.test
    }
}

fn test_like(parsed: &X509Certificate<'_>, name: &str, self_issued: bool, authority: bool) -> Option<TestLike> {
    if parsed.extensions().iter().any(|extension| extension.oid.to_id_string() == ASPNET_DEVELOPMENT) {
        return Some(TestLike::AspNet);
    }
    let is_reserved = |name: &str| {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        RESERVED.iter().any(|end| name == *end || name.strip_suffix(end).is_some_and(|rest| rest.ends_with('.')))
    };
    let is_loopback =
        |address: &[u8]| matches!(address, [127, _, _, _]) || address == std::net::Ipv6Addr::LOCALHOST.octets();
    let names = parsed.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    let mut names = names.into_iter().flatten();
    let has_reserved = is_reserved(name)
        || names.any(|name| match name {
            GeneralName::DNSName(name) => is_reserved(name),
            GeneralName::IPAddress(address) => is_loopback(address),
            _ => false,
        });
    let says_so = || {
        let words = name.split(|character: char| !character.is_alphanumeric());
        words.into_iter().any(|word| WORDS.contains(&word.to_lowercase().as_str()))
    };
    match () {
        () if has_reserved => Some(TestLike::ReservedName),
        () if says_so() => Some(TestLike::Word),
        () if self_issued && !authority => Some(TestLike::SelfSignedLeaf),
        () => None,
    }
}
