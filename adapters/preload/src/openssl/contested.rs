//! Sources whose certificates would join others of the same subject in a store.

use std::sync::Arc;

use windlass::CanonicalName;

use crate::openssl::objects::Registrations;
use crate::openssl::snapshot::Snapshot;
use crate::tables::HashSet;

/// Whether one certificate occurs twice among others of its subject. As for [`is_contested`], this is left to the
/// original.
pub fn holds_twins(snapshot: &Snapshot) -> bool {
    let roots = &snapshot.roots;
    roots.shared_subjects().iter().any(|&index| roots.anchor(index).is_duplicate())
}

/// Whether a subject of this source would end up with several certificates of different origin. The result in stock
/// depends on the version: some fail to recognise a certificate that is already there, and hold it twice. This is left
/// to the original.
pub fn is_contested(
    registered: &Registrations,
    snapshot: &Arc<Snapshot>,
    in_memory: impl FnOnce() -> Option<Vec<Option<CanonicalName>>>,
) -> bool {
    let roots = &snapshot.roots;
    let is_registered =
        |name: &CanonicalName| registered.iter().any(|known| known.source.roots.by_subject(name).next().is_some());
    let mut earlier = registered.iter().map(|known| &known.source);
    if earlier.any(|other| have_contested_subject(other, snapshot)) {
        return true;
    }
    let mut seen = HashSet::default();
    // Without memory to find out, it is left to the original.
    let mut is_news = |name| seen.try_reserve(1).is_ok() && seen.insert(name);
    let Some(names) = in_memory() else { return true };
    names.into_iter().any(|name| match name {
        Some(name) => {
            let overlaps = roots.by_subject(&name).next().is_some();
            overlaps && (!is_registered(&name) || !is_news(name))
        }
        None => true,
    })
}

/// Whether two sources have different certificates of a subject that both contain.
fn have_contested_subject(a: &Arc<Snapshot>, b: &Arc<Snapshot>) -> bool {
    if Arc::ptr_eq(&a.roots, &b.roots) {
        return !a.roots.shared_subjects().is_empty();
    }
    let (small, large) = if a.roots.len() <= b.roots.len() { (a, b) } else { (b, a) };
    small.roots.anchors().any(|anchor| {
        let Ok(name) = CanonicalName::from_raw(anchor.raw_subject()) else { return true };
        let mut others = large.roots.by_subject(&name).peekable();
        let own_are_several = small.roots.by_subject(&name).any(|own| small.roots.anchor(own).der() != anchor.der());
        others.peek().is_some()
            && (own_are_several || others.any(|index| large.roots.anchor(index).der() != anchor.der()))
    })
}
