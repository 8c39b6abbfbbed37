//! A store gives up its shared certificates before the program sees them.

use crate::append_list::AppendList;
use crate::labels::Event;
use crate::memory;
use crate::openssl::api::{OPENSSL_STACK, Required, X509, X509_OBJECT};
use crate::openssl::errors::Marked;
use crate::openssl::model::{Model, Phase};
use crate::openssl::objects::Objects;
use crate::openssl::{snapshot, users};
use crate::process;
use crate::tables::HashMap;

/// The program is about to see certificates of a store. Call this without the model's lock, and without the store's,
/// unless the store is already kept apart.
pub fn keep_apart(model: &Model<Objects>) {
    let objects = &model.foreign;
    if objects.own.is_apart() {
        return;
    }
    let _locked = model.lock();
    if objects.own.is_apart() || model.phase() == Phase::Ended {
        return;
    }
    if objects.own.has_shared() {
        process::count(Event::StoreKeptApart, 1);
        let _marked = Marked::new(objects.served);
        if exchange(objects).is_none() {
            // The program may get shared ones now. This is tried again when it next asks, or verifies.
            users::note_changer();
            return;
        }
    }
    // A thread that sees this goes on without the lock, so it comes last.
    objects.own.be_apart();
}

/// Replaces the shared certificates by the store's own. Whole objects are exchanged, not their contents: a search of
/// another thread takes a reference to the contents of an object after it has unlocked the store
/// (X509_STORE_CTX_get_by_subject, x509_lu.c of 1.1.1 to 3.5). None if there is no memory to list them: nothing is
/// changed then.
fn exchange(objects: &Objects) -> Option<()> {
    // Parsed while the store is not locked. No shared certificate comes in meanwhile: adding one needs the model's
    // lock.
    let shared = objects.with_stack(|api, stack| {
        // SAFETY: a live object, read under the store's lock.
        let all = elements(api, stack).map(|(_, object)| unsafe { (api.X509_OBJECT_get0_X509)(object) });
        memory::collected(all.filter(|&certificate| snapshot::shared(certificate).is_some()), 0)
    })??;
    let mut exchanged = HashMap::default();
    exchanged.try_reserve(shared.len()).ok()?;
    exchanged.extend(shared.into_iter().map(|shared: *mut X509| (shared, objects.own.in_exchange(shared))));
    objects.with_stack(|api, stack| {
        // SAFETY: the live stack, under the store's lock.
        let was_sorted = unsafe { (api.OPENSSL_sk_is_sorted)(stack) } == 1;
        let mut changed = false;
        for (at, object) in elements(api, stack) {
            // SAFETY: as above.
            let certificate = unsafe { (api.X509_OBJECT_get0_X509)(object) };
            let Some(own) = exchanged.get(&certificate).filter(|&&own| own != certificate) else { continue };
            let Some(retired) = AppendList::prepare(object as usize) else { continue };
            // SAFETY: as above; the new object takes its own reference, and the old one is kept until the store ends.
            unsafe {
                let other = (api.X509_OBJECT_new)();
                if other.is_null() || (api.X509_OBJECT_set1_X509)(other, *own) != 1 {
                    (api.X509_OBJECT_free)(other);
                    continue;
                }
                (api.OPENSSL_sk_set)(stack, at, other.cast());
            }
            objects.retired.append(retired);
            changed = true;
        }
        if changed && was_sorted {
            // SAFETY: as above. The names are unchanged, so this only makes the stack count as sorted again.
            unsafe { (api.OPENSSL_sk_sort)(stack) };
        }
    })
}

fn elements(api: &Required, stack: *mut OPENSSL_STACK) -> impl Iterator<Item = (i32, *mut X509_OBJECT)> {
    // SAFETY: the live stack; the caller holds the store's lock.
    let count = unsafe { (api.OPENSSL_sk_num)(stack) };
    // SAFETY: as above.
    (0..count.max(0)).map(move |at| (at, unsafe { (api.OPENSSL_sk_value)(stack, at) }.cast()))
}
