//! The order in which the anchors of one subject are placed where a foreign library looks for them.

use windlass::AnchorIndex;

/// The order in which the anchors of one subject are added: the order of the source. The deliberately broken variants
/// exist only to show that the differential tests notice them.
#[cfg(not(feature = "sabotage"))]
pub fn arranged(indices: impl Iterator<Item = AnchorIndex>) -> impl Iterator<Item = AnchorIndex> {
    indices
}

#[cfg(feature = "sabotage")]
pub fn arranged(indices: impl Iterator<Item = AnchorIndex>) -> impl Iterator<Item = AnchorIndex> {
    let mut all: Vec<AnchorIndex> = indices.collect();
    match crate::process::environment(c"WINDLASS_SABOTAGE").and_then(|value| value.to_str()) {
        Some("first") => all.truncate(1),
        Some("last") => drop(all.drain(..all.len().saturating_sub(1))),
        Some("reversed") => all.reverse(),
        _ => {}
    }
    all.into_iter()
}
