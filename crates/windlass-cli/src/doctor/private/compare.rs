//! How a private store of trust differs from the system's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use windlass::Timestamp;

use crate::doctor::bundle::Contents;
use crate::doctor::certificate::Fingerprint;
use crate::doctor::check::{Finding, Outcome, Severity};
use crate::doctor::machine::{MAX_FILE, Machine, Target};
use crate::places::certificate::Certificate;
use crate::places::read::{self, Entry, Trust, Work};
use crate::places::{Place, PlaceKind};

/// Where administrators put certificates that are to be trusted in addition: Debian, Fedora, SUSE, Arch.
const ADDED: [&str; 4] = [
    "/usr/local/share/ca-certificates",
    "/etc/pki/ca-trust/source/anchors",
    "/etc/pki/trust/anchors",
    "/etc/ca-certificates/trust-source/anchors",
];
/// A bundle that is older has missed several releases of Mozilla's list.
const OLD_DAYS: i64 = 365;
/// Names that are listed of each difference.
const LISTED: usize = 12;

/// The system's trust.
pub struct System {
    /// Every certificate of the default files, or of the default directories where there is no file.
    pub all: BTreeMap<Fingerprint, String>,
    /// Those that an administrator has added.
    added: BTreeSet<Fingerprint>,
}

impl System {
    /// What TLS libraries use here by default. None: nothing, and there is nothing to compare with.
    pub fn of(machine: &Machine<'_>, outcome: &mut Outcome) -> Option<System> {
        let sources = machine.sources();
        sources.tell_unseen(outcome);
        let mut all = BTreeMap::new();
        for placed in sources.bundles.iter().flat_map(|bundle| &bundle.contents.certificates) {
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
        if name.is_empty() { crate::anchors::name::hex(fingerprint) } else { name.to_owned() }
    }
}

fn added(machine: &Machine<'_>, is_trusted: &mut dyn FnMut(&Fingerprint) -> bool) -> BTreeSet<Fingerprint> {
    let mut found = BTreeSet::new();
    for directory in ADDED.map(Path::new) {
        let Ok((entries, _)) = machine.entries(directory) else { continue };
        for entry in entries {
            let bytes = machine.read(&entry.path, MAX_FILE).unwrap_or_default();
            found.extend(Contents::of(&bytes, None).fingerprints().into_iter().filter(|one| is_trusted(one)));
        }
    }
    found
}

/// A private store that was read.
pub struct Store<'a> {
    /// The place.
    pub place: &'a Place,
    /// The other places that hold the same.
    pub twins: Vec<&'a Place>,
    /// Trusted certificates, each once.
    pub anchors: BTreeMap<Fingerprint, Certificate>,
    /// When the file was changed last.
    pub changed: Option<Timestamp>,
}

/// Reads the places of these kinds. What is the system's own, through a link, is left out; places that hold the same are one.
pub fn stores<'a>(machine: &'a Machine<'_>, kinds: &[PlaceKind], outcome: &mut Outcome) -> Vec<Store<'a>> {
    let work = Work::default();
    let system: Vec<PathBuf> = machine.sources().bundles.iter().map(|bundle| bundle.real.clone()).collect();
    let mut all: Vec<Store<'a>> = Vec::new();
    for place in machine.places().iter().filter(|place| kinds.contains(&place.kind)) {
        if system.contains(&machine.real(&place.path)) {
            continue;
        }
        let Some(entries) = entries(machine, place, &work, outcome) else { continue };
        let trusted = entries.iter().filter(|entry| entry.trust == Trust::Anchor);
        let certificates = trusted.filter_map(|entry| Certificate::of(&entry.der));
        let anchors: BTreeMap<_, _> = certificates.map(|certificate| (certificate.sha256, certificate)).collect();
        match all.iter_mut().find(|store| store.place.kind == place.kind && store.anchors == anchors) {
            Some(twin) => twin.twins.push(place),
            None => all.push(Store { place, twins: Vec::new(), anchors, changed: changed(machine, &place.path) }),
        }
    }
    all
}

/// The entries of a place that is a file.
pub fn entries(machine: &Machine<'_>, place: &Place, work: &Work, outcome: &mut Outcome) -> Option<Vec<Entry>> {
    let bytes = outcome.seen(machine.read(&place.path, MAX_FILE))?;
    let read = read::read(place.kind, &bytes, work);
    outcome.seen(read.map_err(|why| crate::doctor::check::Unseen::new(&place.path, why)))
}

fn changed(machine: &Machine<'_>, path: &Path) -> Option<Timestamp> {
    let Ok(Target::File(metadata)) = machine.look(path) else { return None };
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok().map(Timestamp)
}

/// What there is to say about a store; nothing if it trusts just what the system does.
pub fn difference(machine: &Machine<'_>, system: &System, store: &Store<'_>) -> Option<Finding> {
    let here: BTreeSet<_> = store.anchors.keys().collect();
    let there: BTreeSet<_> = system.all.keys().collect();
    let only_here: Vec<_> = here.difference(&there).filter_map(|one| store.anchors.get(*one)).collect();
    let only_there: Vec<_> = there.difference(&here).copied().collect();
    let expired: Vec<_> = store.anchors.values().filter(|anchor| anchor.is_expired(machine.now)).collect();
    // What has expired in both, another check tells.
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
    facts.extend(days.filter(|days| *days >= 0).map(|days| format!("the file was changed {days} days ago")));
    facts.extend(store.twins.iter().map(|twin| format!("the same: {} ({})", twin.path.display(), twin.why)));
    list(&mut facts, "the administrator added, and it lacks", missed.iter().map(|one| system.name(one)));
    list(&mut facts, "expired", expired.iter().map(|one| format!("{} ({})", one.name, one.expiry_date())));
    list(&mut facts, "only here", only_here.iter().map(|one| one.name.clone()));
    list(&mut facts, "only in the system's trust", only_there.iter().map(|one| system.name(one)));
    let is_old = days.is_some_and(|days| days > OLD_DAYS);
    let severity = if missed.is_empty() && !is_old { Severity::Note } else { Severity::Warning };
    let what = match (missed.is_empty(), is_old) {
        (false, _) => "lacks certificates that the administrator has added to the system's trust",
        (true, true) => "is a bundle of its own, more than a year old, that differs from the system's trust",
        (true, false) => "is a bundle of its own that differs from the system's trust",
    };
    let what = format!("{what} (used by {})", store.place.why);
    Some(Finding::new(severity, &store.place.path, what).facts(facts))
}

fn list(facts: &mut Vec<String>, what: &str, names: impl ExactSizeIterator<Item = String>) {
    let more = names.len().saturating_sub(LISTED);
    facts.extend(names.take(LISTED).map(|name| format!("{what}: {name}")));
    if more > 0 {
        facts.push(format!("{what}: {more} more"));
    }
}
