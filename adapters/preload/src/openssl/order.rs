//! The order in which an eager load would have left a store's objects.
//!
//! Programs that enumerate a store see an order, and duplicates, that result from how libcrypto searches its stack
//! while filling it. Up to about 3.1 each addition sorts the stack and appends the new object; later versions append,
//! sort at a search, and miss some duplicates in an unsorted stack. This module does not model any of this: it repeats
//! the program's calls on a private store and takes over the resulting order. 4.0 keeps its objects by name, and the
//! objects of a name in the order of addition, so it needs nothing here.

use windlass_interpose::append_list::Prepared;
use windlass_interpose::reserve;

use crate::append_list::AppendList;
use crate::openssl::api::{OPENSSL_STACK, Required, X509_OBJECT, X509_STORE};
use crate::openssl::held::{BaseObject, elements, encoding};
use crate::openssl::model::{Event, Foreign};
use crate::openssl::objects::Objects;
use crate::tables::{HashMap, HashSet};

/// Repeats the events on a private store, and puts the objects of the program's store in the same order. `searched`: a
/// search has sorted the stack since the last event.
pub fn arrange<'e>(objects: &Objects, events: impl Iterator<Item = &'e Event<Objects>>, searched: bool) {
    let api = &objects.served.api;
    // SAFETY: a store of our own, freed at the end; `take_over` may read the live stack of the program's store: before
    // 4.0 this changes nothing, and in 4.0 the program is about to do the same.
    unsafe {
        let shadow = (api.X509_STORE_new)();
        if shadow.is_null() {
            return;
        }
        replay(objects, events, shadow);
        if searched {
            (api.OPENSSL_sk_sort)((api.X509_STORE_get0_objects)(shadow));
        }
        take_over(objects, shadow);
        (api.X509_STORE_free)(shadow);
    }
}

fn replay<'e>(objects: &Objects, events: impl Iterator<Item = &'e Event<Objects>>, shadow: *mut X509_STORE) {
    let api = &objects.served.api;
    for event in events {
        // SAFETY: `shadow` is ours; the events or the snapshots hold the certificates and CRLs.
        unsafe {
            match event {
                Event::Base(base, sorted) => {
                    // As they are, including duplicates.
                    let stack = (api.X509_STORE_get0_objects)(shadow);
                    for object in base {
                        let copy = (api.X509_OBJECT_new)();
                        if copy.is_null() {
                            continue;
                        }
                        match object {
                            BaseObject::Certificate(held) => {
                                (api.X509_OBJECT_set1_X509)(copy, objects.own.mine(held.certificate))
                            }
                            BaseObject::Crl(held) => (api.X509_OBJECT_set1_X509_CRL)(copy, held.crl),
                        };
                        (api.OPENSSL_sk_push)(stack, copy.cast());
                    }
                    if *sorted {
                        (api.OPENSSL_sk_sort)(stack);
                    }
                }
                Event::Load(registration) => {
                    for index in objects.all(&registration.source) {
                        if let Some(certificate) = objects.certificate(&registration.source, index) {
                            (api.X509_STORE_add_cert)(shadow, certificate);
                        }
                    }
                }
                Event::Added(held) => {
                    (api.X509_STORE_add_cert)(shadow, objects.own.mine(held.certificate));
                }
                Event::Find if objects.keeps_a_stack() => {
                    (api.OPENSSL_sk_sort)((api.X509_STORE_get0_objects)(shadow));
                }
                Event::Find => {}
            }
        }
    }
}

/// Arranges the objects of the program's store like those of `shadow`. Objects taken out of the stack are kept: another
/// thread may be looking at them.
///
/// # Safety
/// Both are live stores of one libcrypto whose `get0_objects` may be called; nobody else uses `shadow`.
unsafe fn take_over(program: &Objects, shadow: *mut X509_STORE) {
    let api = &program.served.api;
    // SAFETY: as the caller states. The stack of the program's store is only touched under its lock.
    unsafe {
        let model = (api.X509_STORE_get0_objects)(shadow);
        let sorted = (api.OPENSSL_sk_is_sorted)(model) == 1;
        if (api.X509_STORE_lock)(program.store) != 1 {
            return;
        }
        let stack = (api.X509_STORE_get0_objects)(program.store);
        let Some((objects, arranged, retired)) = arrangement(api, stack, model) else {
            (api.X509_STORE_unlock)(program.store);
            return;
        };
        if place(api, stack, &arranged) {
            retired.into_iter().for_each(|object| program.retired.append(object));
        } else {
            // Everything is where it was.
            for &copy in arranged.iter().filter(|object| !objects.contains(object)) {
                (api.X509_OBJECT_free)(copy);
            }
        }
        if sorted {
            (api.OPENSSL_sk_sort)(stack);
        }
        (api.X509_STORE_unlock)(program.store);
    }
}

/// Makes these the objects of a stack. False if there is no memory for them: the stack is then unchanged.
///
/// # Safety
/// The live stack, under its store's lock, and live objects.
unsafe fn place(api: &Required, stack: *mut OPENSSL_STACK, arranged: &[*mut X509_OBJECT]) -> bool {
    // SAFETY: as the caller states.
    unsafe {
        let (before, after) = ((api.OPENSSL_sk_num)(stack).max(0), i32::try_from(arranged.len()).unwrap_or(i32::MAX));
        // Only growing takes memory, so it comes before anything is replaced.
        for &object in arranged.get(before as usize..).unwrap_or_default() {
            if (api.OPENSSL_sk_push)(stack, object.cast()) <= 0 {
                while (api.OPENSSL_sk_num)(stack) > before {
                    (api.OPENSSL_sk_pop)(stack);
                }
                return false;
            }
        }
        while (api.OPENSSL_sk_num)(stack) > after {
            (api.OPENSSL_sk_pop)(stack);
        }
        for (at, object) in (0..before).zip(arranged) {
            (api.OPENSSL_sk_set)(stack, at, object.cast());
        }
        true
    }
}

/// The objects of a stack; the same objects in the model's order; and those to be removed.
type Arrangement = (Vec<*mut X509_OBJECT>, Vec<*mut X509_OBJECT>, Vec<Prepared<usize>>);

/// None if there is no memory for it: the stack then stays as it is.
///
/// # Safety
/// Both are live stacks of objects that do not change meanwhile.
unsafe fn arrangement(api: &Required, stack: *mut OPENSSL_STACK, model: *mut OPENSSL_STACK) -> Option<Arrangement> {
    let _unreserved = reserve::unreserved();
    // SAFETY: as the caller states.
    unsafe {
        let (objects, wanted) = (elements(api, stack)?, elements(api, model)?);
        let mut left: HashMap<Content, Vec<*mut X509_OBJECT>> = HashMap::default();
        left.try_reserve(objects.len()).ok()?;
        for &object in objects.iter().rev() {
            let same = left.entry(content(api, object)?).or_default();
            same.try_reserve(1).ok()?;
            same.push(object);
        }
        let mut modelled = HashSet::default();
        let (mut arranged, mut retired) = (Vec::new(), Vec::new());
        modelled.try_reserve(wanted.len()).ok()?;
        arranged.try_reserve_exact(objects.len() + wanted.len()).ok()?;
        retired.try_reserve_exact(objects.len()).ok()?;
        for wanted in wanted {
            let content = content(api, wanted)?;
            let is_same = |object| (api.X509_OBJECT_get0_X509)(object) == (api.X509_OBJECT_get0_X509)(wanted);
            match left.get_mut(&content).and_then(Vec::pop) {
                Some(object) if is_same(object) => arranged.push(object),
                // It came unseen, after the load of an equal one. The program may have changed it since.
                Some(object) => {
                    arranged.push(copy_of(api, wanted)?);
                    retired.push(AppendList::prepare(object as usize)?);
                }
                None => arranged.extend(copy_of(api, wanted)),
            }
            modelled.insert(content);
        }
        // Objects that came in other ways follow the rest in their own order; an object that stock would not hold a
        // second time is removed.
        for &object in &objects {
            let content = content(api, object)?;
            if !modelled.contains(&content) {
                arranged.push(object);
            } else if left.get(&content).is_some_and(|left| left.contains(&object)) {
                retired.push(AppendList::prepare(object as usize)?);
            }
        }
        Some((objects, arranged, retired))
    }
}

/// The contents of an object. Two certificates are the same if their encodings are, as in X509_cmp.
#[derive(PartialEq, Eq, Hash)]
enum Content {
    Certificate(Vec<u8>),
    Other(usize),
}

/// None if there is no memory for it.
///
/// # Safety
/// `object` is a live object.
unsafe fn content(api: &Required, object: *mut X509_OBJECT) -> Option<Content> {
    // SAFETY: as the caller states.
    unsafe {
        let certificate = (api.X509_OBJECT_get0_X509)(object);
        if certificate.is_null() {
            return Some(Content::Other((api.X509_OBJECT_get0_X509_CRL)(object) as usize));
        }
        encoding(api, certificate).map(Content::Certificate)
    }
}

/// A second object for a certificate that stock would hold twice.
///
/// # Safety
/// As for `content`.
unsafe fn copy_of(api: &Required, object: *mut X509_OBJECT) -> Option<*mut X509_OBJECT> {
    // SAFETY: as the caller states; the new object takes its own reference.
    unsafe {
        let (certificate, crl) = ((api.X509_OBJECT_get0_X509)(object), (api.X509_OBJECT_get0_X509_CRL)(object));
        let copy = (api.X509_OBJECT_new)();
        if copy.is_null() {
            return None;
        }
        if !certificate.is_null() {
            (api.X509_OBJECT_set1_X509)(copy, certificate);
        } else if !crl.is_null() {
            (api.X509_OBJECT_set1_X509_CRL)(copy, crl);
        }
        Some(copy)
    }
}
