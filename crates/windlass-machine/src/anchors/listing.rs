//! The data that `ls` shows, independent of the output format. The field names are those of the JSON, which
//! `windlass ls --help` documents.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use windlass::{RootStore, Timestamp, TrustAnchor};

use super::authority::is_ca_in_der;
use super::choose::Choice;
use super::key::Key;
use super::name::{Name, hex};
use crate::places::sources::kind;

/// The anchors of a source.
#[derive(Debug, Serialize)]
pub struct Listing {
    schema: u32,
    /// The source that they were read from.
    pub source: ListedSource,
    /// Totals.
    pub summary: Summary,
    /// The anchors, in the order of the source.
    pub anchors: Vec<Anchor>,
}

/// The source of a listing.
#[derive(Debug, Serialize)]
pub struct ListedSource {
    /// `cafile` or `capath`.
    pub kind: &'static str,
    /// Its path.
    pub path: String,
    /// Why this source was chosen.
    pub reason: String,
}

/// Totals of a listing.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// All anchors, duplicates included.
    pub anchors: usize,
    /// Anchors without duplicates.
    pub distinct: usize,
    /// Repetitions of earlier certificates.
    pub duplicates: usize,
    /// Anchors that have expired.
    pub expired: usize,
    /// Anchors that are not valid yet.
    pub not_yet_valid: usize,
    /// Anchors that are not CAs.
    pub not_ca: usize,
}

/// One anchor.
#[derive(Debug, Serialize)]
pub struct Anchor {
    index: usize,
    subject: String,
    /// The part of the subject that people recognise.
    pub name: String,
    issuer: String,
    serial: String,
    not_before: String,
    /// End of validity, RFC 3339.
    pub not_after: String,
    /// The public key.
    pub key: Key,
    subject_hash: String,
    subject_key_id: Option<String>,
    /// SHA-256 of the certificate in lower-case hexadecimal.
    pub sha256_fingerprint: String,
    self_issued: bool,
    /// Whether it is a CA certificate.
    pub ca: bool,
    /// Whether `not_after` has passed.
    pub expired: bool,
    /// Whether `not_before` is in the future.
    pub not_yet_valid: bool,
    /// Whether an earlier certificate is the same.
    pub duplicate: bool,
    /// Whether a different certificate has the same subject.
    pub shares_subject: bool,
}

impl Listing {
    /// Describes every anchor of `store`, as of now.
    pub fn of(choice: &Choice, store: &RootStore) -> Listing {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = Timestamp(i64::try_from(now).unwrap_or(i64::MAX));
        let shared = store.shared_subjects();
        let anchors = store.anchors();
        let anchors: Vec<_> =
            anchors.map(|anchor| Anchor::of(&anchor, now, shared.contains(&anchor.index()))).collect();
        Listing { schema: 1, source: ListedSource::of(choice), summary: Summary::of(&anchors), anchors }
    }
}

impl ListedSource {
    fn of(choice: &Choice) -> ListedSource {
        let path = choice.source.path().to_string_lossy().into_owned();
        ListedSource { kind: kind(&choice.source), path, reason: choice.reason.clone() }
    }
}

impl Summary {
    fn of(anchors: &[Anchor]) -> Summary {
        let count = |is: fn(&Anchor) -> bool| anchors.iter().filter(|anchor| is(anchor)).count();
        let duplicates = count(|anchor| anchor.duplicate);
        Summary {
            anchors: anchors.len(),
            distinct: anchors.len() - duplicates,
            duplicates,
            expired: count(|anchor| anchor.expired),
            not_yet_valid: count(|anchor| anchor.not_yet_valid),
            not_ca: count(|anchor| !anchor.ca),
        }
    }
}

impl Anchor {
    fn of(anchor: &TrustAnchor<'_>, now: Timestamp, shares_subject: bool) -> Anchor {
        let subject = Name::of(anchor.raw_subject());
        let rfc_3339 = |time: Timestamp| time.to_string().replace(' ', "T");
        Anchor {
            index: anchor.index().get(),
            subject: subject.full,
            name: subject.short,
            issuer: Name::of(anchor.raw_issuer()).full,
            serial: hex(anchor.serial()),
            not_before: rfc_3339(anchor.not_before()),
            not_after: rfc_3339(anchor.not_after()),
            key: Key::of(anchor.spki()),
            subject_hash: anchor.subject_hash().to_string(),
            subject_key_id: anchor.subject_key_id().map(hex),
            sha256_fingerprint: hex(&anchor.sha256_fingerprint()),
            self_issued: anchor.raw_subject().as_bytes() == anchor.raw_issuer().as_bytes(),
            // A certificate that the decoder here can't read is not reported as "not a CA": it may be one.
            ca: is_ca_in_der(anchor.der()).unwrap_or(true),
            expired: anchor.not_after() < now,
            not_yet_valid: anchor.not_before() > now,
            duplicate: anchor.is_duplicate(),
            shares_subject,
        }
    }
}
