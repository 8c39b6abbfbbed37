//! Anchors that share a subject, and anchors that occur twice.

use crate::anchor::AnchorIndex;
use crate::error::Unsupported;
use crate::index::{Index, filled};
use crate::sorted::sorted;

/// The anchors that share a subject, and the duplicates among them.
#[derive(Default)]
pub(super) struct Twins {
    /// Anchors whose subject is also the subject of a different certificate, in source order.
    pub shared: Box<[AnchorIndex]>,
    /// Anchors whose certificate also occurs earlier, in source order.
    pub duplicates: Box<[AnchorIndex]>,
}

impl Twins {
    /// Only anchors that share a subject can be the same certificate: only their DER is compared, through an index. A
    /// file with many certificates of one subject costs no more than its size.
    pub fn find<'k>(
        subjects: &Index,
        subject: impl Fn(u32) -> Option<&'k [u8]> + Copy,
        der: impl Fn(u32) -> Option<&'k [u8]>,
    ) -> Result<Twins, Unsupported> {
        let groups = || subjects.groups(subject).filter(|group| group.len() > 1);
        let out_of_memory = |_| Unsupported::OutOfMemory;
        let count = groups().map(<[u32]>::len).sum();
        let mut crowded: Vec<u32> = Vec::new();
        crowded.try_reserve_exact(count).map_err(out_of_memory)?;
        crowded.extend(groups().flatten());
        if crowded.is_empty() {
            return Ok(Twins::default());
        }
        let key = |place: u32| der(*crowded.get(place as usize)?);
        let same = Index::build(crowded.len() as u32, key)?;
        let mut is_first = filled(crowded.len(), false)?;
        for place in same.heads(key) {
            if let Some(is_first) = is_first.get_mut(place as usize) {
                *is_first = true;
            }
        }
        let mut all = crowded.iter().copied().map(AnchorIndex).zip(is_first);
        let (mut shared, mut duplicates) = (Vec::new(), Vec::new());
        shared.try_reserve_exact(count).map_err(out_of_memory)?;
        duplicates.try_reserve_exact(count).map_err(out_of_memory)?;
        let mut members = Vec::new();
        members.try_reserve_exact(groups().map(<[u32]>::len).max().unwrap_or(0)).map_err(out_of_memory)?;
        for group in groups() {
            members.clear();
            members.extend(all.by_ref().take(group.len()));
            let group: &[(AnchorIndex, bool)] = &members;
            if group.iter().filter(|(_, is_first)| *is_first).count() > 1 {
                shared.extend(group.iter().map(|(index, _)| *index));
            }
            duplicates.extend(group.iter().filter(|(_, is_first)| !is_first).map(|(index, _)| *index));
        }
        Ok(Twins { shared: sorted(shared).into_boxed_slice(), duplicates: sorted(duplicates).into_boxed_slice() })
    }
}
