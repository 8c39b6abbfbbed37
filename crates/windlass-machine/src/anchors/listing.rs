//! What `ls` shows, however it is rendered. The field names are those of the JSON, which `windlass ls --help`
//! documents.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use windlass::{RootStore, Source, Timestamp, TrustAnchor};

use super::authority::is_ca_in_der;
use super::choose::Choice;
use super::key::Key;
use super::name::{Name, hex};

/// The anchors of a source.
#[derive(Debug, Serialize)]
pub struct Listing {
    schema: u32,
    /// Where they were read.
    pub source: ListedSource,
    /// Totals.
    pub summary: Summary,
    /// In the order of the source.
    pub anchors: Vec<Anchor>,
}

/// Where anchors were read.
#[derive(Debug, Serialize)]
pub struct ListedSource {
    /// `cafile` or `capath`.
    pub kind: &'static str,
    /// Its path.
    pub path: String,
    /// Why this source.
    pub reason: String,
}

/// Totals of a listing.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// All, duplicates included.
    pub anchors: usize,
    /// Without duplicates.
    pub distinct: usize,
    /// Repetitions of earlier certificates.
    pub duplicates: usize,
    /// Past their time.
    pub expired: usize,
    /// Before their time.
    pub not_yet_valid: usize,
    /// That may vouch for nobody.
    pub not_ca: usize,
}

/// One anchor.
#[derive(Debug, Serialize)]
pub struct Anchor {
    index: usize,
    subject: String,
    /// The part of the subject by which people know it.
    pub name: String,
    issuer: String,
    serial: String,
    not_before: String,
    /// RFC 3339.
    pub not_after: String,
    /// The public key.
    pub key: Key,
    subject_hash: String,
    subject_key_id: Option<String>,
    /// Lower-case hexadecimal.
    pub sha256_fingerprint: String,
    self_issued: bool,
    /// It may vouch for others.
    pub ca: bool,
    /// `not_after` has passed.
    pub expired: bool,
    /// `not_before` is to come.
    pub not_yet_valid: bool,
    /// An earlier certificate is the same.
    pub duplicate: bool,
    /// A different certificate has the same subject.
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
        let kind = match choice.source {
            Source::Cafile(_) => "cafile",
            Source::Capath(_) => "capath",
        };
        let path = choice.source.path().to_string_lossy().into_owned();
        ListedSource { kind, path, reason: choice.reason.clone() }
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
            // What is too unusual for the reader here is not called something that it may not be.
            ca: is_ca_in_der(anchor.der()).unwrap_or(true),
            expired: anchor.not_after() < now,
            not_yet_valid: anchor.not_before() > now,
            duplicate: anchor.is_duplicate(),
            shares_subject,
        }
    }
}
