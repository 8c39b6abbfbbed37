//! Comparing a private trust store with the system's.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use windlass::Timestamp;
use windlass_machine::places::certificate::Certificate;
use windlass_machine::places::known_paths::ADDED;
use windlass_machine::places::read::{self, Entry, Trust};
use windlass_machine::places::{Place, PlaceKind};

use super::budget::Budgets;
use windlass_machine::anchors::name::hex;

use crate::bundle::Contents;
use crate::certificate::Fingerprint;
use crate::check::{Finding, Outcome, Severity, Unseen};
use crate::machine::{Content, MAX_FILE, Machine};

/// In days. An older bundle has missed several releases of Mozilla's list.
const OLD_DAYS: i64 = 365;
/// The most names listed for each difference.
const LISTED: usize = 12;

/// The system's trust.
pub struct System {
    /// Every certificate of the default files, or of the default directories if there is no file.
    pub all: BTreeMap<Fingerprint, String>,
    /// The certificates that an administrator added.
    added: BTreeSet<Fingerprint>,
}

impl System {
    /// The default trust of TLS libraries here. None: there is none, and thus nothing to compare with.
    pub fn of(machine: &Machine<'_>, outcome: &mut Outcome) -> Option<System> {
        let sources = machine.sources_for(outcome);
        let mut all = BTreeMap::new();
        for placed in sources.bundles.iter().flat_map(|bundle| bundle.contents.trusted()) {
            let certificate = &placed.certificate;
            let name = certificate.says.as_ref().map(|says| says.name.clone());
            all.insert(certificate.fingerprint, name.unwrap_or_default());
        }
        if all.is_empty() {
            let of_directories = sources.directories.iter().flat_map(|directory| directory.fingerprints());
            all.extend(of_directories.map(|fingerprint| (fingerprint, String::new())));
        }
        let added = added(machine, &mut |fingerprint| all.contains_key(fingerprint));
        (!all.is_empty()).then_some(System { all, added })
    }

    fn name(&self, fingerprint: &Fingerprint) -> String {
        let name = self.all.get(fingerprint).map(String::as_str).unwrap_or_default();
        if name.is_empty() { windlass_machine::anchors::name::hex(fingerprint) } else { name.to_owned() }
    }
}

fn added(machine: &Machine<'_>, is_trusted: &mut dyn FnMut(&Fingerprint) -> bool) -> BTreeSet<Fingerprint> {
    let mut found = BTreeSet::new();
    for directory in ADDED.map(Path::new) {
        let Ok((entries, _)) = machine.entries(directory) else { continue };
        for entry in entries {
            let Ok(content) = machine.read(&entry.path, MAX_FILE) else { continue };
            found.extend(Contents::of(&content.bytes, None).fingerprints().into_iter().filter(|one| is_trusted(one)));
        }
    }
    found
}

/// A private store that was read.
pub struct Store<'a> {
    /// The private store that is compared.
    pub place: &'a Place,
    /// The other places with the same content.
    pub twins: Vec<&'a Place>,
    /// Trusted certificates, each once. None: it can't be decoded here, and is an anchor for programs that can.
    pub anchors: BTreeMap<Fingerprint, Option<Certificate>>,
    /// The time of the file's last change.
    pub changed: Option<Timestamp>,
}

/// Reads the places of these kinds. Links to the system's own files are left out; places with the same content become
/// one.
pub fn stores<'a>(machine: &'a Machine<'_>, kinds: &[PlaceKind], outcome: &mut Outcome) -> Vec<Store<'a>> {
    let mut budgets = Budgets::of(machine);
    let system: Vec<PathBuf> = machine.sources().bundles.iter().map(|bundle| bundle.real.clone()).collect();
    let mut all: Vec<Store<'a>> = Vec::new();
    let mut known: HashMap<(PlaceKind, Fingerprint), usize> = HashMap::new();
    for place in machine.places().iter().filter(|place| kinds.contains(&place.kind)) {
        if system.contains(&machine.real(&place.path)) {
            continue;
        }
        let Some((entries, content)) = entries(machine, place, &mut budgets, outcome) else { continue };
        let anchors = anchors(&entries);
        let digest = anchors.keys().fold(Sha256::new(), |digest, fingerprint| digest.chain_update(fingerprint));
        match known.entry((place.kind, digest.finalize().into())) {
            hash_map::Entry::Occupied(twin) => all[*twin.get()].twins.push(place),
            hash_map::Entry::Vacant(new) => {
                new.insert(all.len());
                all.push(Store { place, twins: Vec::new(), anchors, changed: content.changed() });
            }
        }
    }
    all
}

/// The trusted certificates. Of several with the same bytes the first counts, even if it is refused.
fn anchors(entries: &[Entry]) -> BTreeMap<Fingerprint, Option<Certificate>> {
    let mut first = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.trust != Trust::Nothing) {
        first.entry(Sha256::digest(&entry.der).into()).or_insert(entry);
    }
    let trusted = first.into_iter().filter(|(_, entry)| entry.trust == Trust::Anchor);
    trusted.map(|(fingerprint, entry)| (fingerprint, entry.certificate())).collect()
}

/// The entries of a place that is a file, and the open file.
pub fn entries(
    machine: &Machine<'_>,
    place: &Place,
    budgets: &mut Budgets<'_>,
    outcome: &mut Outcome,
) -> Option<(Vec<Entry>, Content)> {
    let budget = budgets.for_path(&place.path);
    outcome.seen(budget.store(&place.path))?;
    let content = outcome.seen(budget.read(machine, &place.path, MAX_FILE))?;
    let read = read::read(place.kind, &content.bytes, &budget.work);
    Some((outcome.seen(read.map_err(|why| Unseen::new(&place.path, why)))?, content))
}

/// The finding about a store; None if it trusts exactly the certificates that the system trusts.
pub fn difference(machine: &Machine<'_>, system: &System, store: &Store<'_>, outcome: &mut Outcome) -> Option<Finding> {
    let here: BTreeSet<_> = store.anchors.keys().collect();
    let there: BTreeSet<_> = system.all.keys().collect();
    let only_here: Vec<_> = here.difference(&there).map(|one| store.name(one)).collect();
    let only_there: Vec<_> = there.difference(&here).copied().collect();
    let unknown = here.difference(&there).filter(|one| store.anchors.get(**one).is_some_and(Option::is_none)).count();
    let expired: Vec<_> = store.anchors.values().flatten().filter(|anchor| anchor.is_expired(machine.now)).collect();
    if unknown > 0 {
        outcome.not_seen(Unseen::new(
            &store.place.path,
            format!("{unknown} of its certificates can't be decoded: its trust is not known completely"),
        ));
    }
    // Another check reports certificates that have expired in both.
    if only_here.is_empty() && only_there.is_empty() {
        return None;
    }
    let missed: Vec<_> = only_there.iter().filter(|one| system.added.contains(**one)).collect();
    let days = store.changed.map(|changed| (machine.now.seconds() - changed.seconds()) / 86_400);
    let mut facts = vec![format!(
        "{} anchors, {} of the system; {} only here, {} only in the system's trust, {} expired",
        here.len(),
        there.len(),
        only_here.len(),
        only_there.len(),
        expired.len()
    )];
    if unknown > 0 {
        facts.push(format!("of those only here, {unknown} can't be decoded"));
    }
    facts.extend(days.filter(|days| *days >= 0).map(|days| match days {
        0 => String::from("the file was changed today"),
        1 => String::from("the file was changed yesterday"),
        _ => format!("the file was changed {days} days ago"),
    }));
    let twins = store.twins.iter().map(|twin| format!("{} ({})", twin.path.display(), twin.why));
    list(&mut facts, "the same", twins);
    list(&mut facts, "the administrator added, and it lacks", missed.iter().map(|one| system.name(one)));
    list(&mut facts, "expired", expired.iter().map(|one| format!("{} ({})", one.name, one.expiry_date())));
    list(&mut facts, "only here", only_here.into_iter());
    list(&mut facts, "only in the system's trust", only_there.iter().map(|one| system.name(one)));
    let is_old = days.is_some_and(|days| days > OLD_DAYS);
    let severity = if missed.is_empty() && !is_old { Severity::Note } else { Severity::Warning };
    let what = match (missed.is_empty(), is_old) {
        (false, _) => "lacks certificates that the administrator has added to the system's trust",
        (true, true) => "is a bundle of its own, more than a year old, that differs from the system's trust",
        (true, false) => "is a bundle of its own that differs from the system's trust",
    };
    let what = format!("{what} (used by {})", store.place.why);
    Some(
        Finding::new(severity, &store.place.path, what)
            .about(missed.iter().map(|one| hex(one.as_slice())))
            .facts(facts),
    )
}

impl Store<'_> {
    fn name(&self, fingerprint: &Fingerprint) -> String {
        match self.anchors.get(fingerprint) {
            Some(Some(certificate)) => certificate.name.clone(),
            _ => format!(
                "a certificate that can't be decoded (SHA-256 {})",
                windlass_machine::anchors::name::hex(fingerprint)
            ),
        }
    }
}

fn list(facts: &mut Vec<String>, what: &str, names: impl ExactSizeIterator<Item = String>) {
    let more = names.len().saturating_sub(LISTED);
    facts.extend(names.take(LISTED).map(|name| format!("{what}: {name}")));
    if more > 0 {
        facts.push(format!("{what}: {more} more"));
    }
}
