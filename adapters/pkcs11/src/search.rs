//! Searching by template. The attributes that GnuTLS, NSS and Java search by are indexed; everything else is compared
//! one by one.

use cryptoki_sys::*;

use crate::snapshot::{Object, Snapshot};
use crate::vendor::*;
use crate::view::View;

/// One attribute of a template.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub attribute: CK_ATTRIBUTE_TYPE,
    pub value: &'a [u8],
}

/// The handles of all objects that match the whole template.
pub fn find(snapshot: &Snapshot, template: &[Wanted<'_>]) -> Vec<CK_OBJECT_HANDLE> {
    let mut found = Vec::new();
    let mut seen_extensions: Vec<Vec<u8>> = Vec::new();
    for object in candidates(snapshot, template) {
        let Some(view) = snapshot.view(object) else { continue };
        if !template.iter().all(|wanted| matches(&view, wanted)) {
            continue;
        }
        // Of several extensions of one type for one key the first counts: X.509 allows one only, and p11-kit shows one
        // only.
        if let View::Extension(extension) = &view
            && value_of(template, CKA_PUBLIC_KEY_INFO).is_some()
        {
            if seen_extensions.contains(&extension.oid()) {
                continue;
            }
            seen_extensions.push(extension.oid());
        }
        found.push(snapshot.handle(object));
    }
    found
}

/// All objects that match, and possibly others.
fn candidates(snapshot: &Snapshot, template: &[Wanted<'_>]) -> Vec<Object> {
    let class = value_of(template, CKA_CLASS);
    let may_be = |wanted: CK_OBJECT_CLASS| class.is_none_or(|class| class == wanted.to_ne_bytes());
    let mut all = Vec::new();
    if may_be(CKO_NSS_BUILTIN_ROOT_LIST) {
        all.push(Object::RootList);
    }
    if may_be(CKO_CERTIFICATE) {
        all.extend(certificates(snapshot, template).into_iter().map(Object::Certificate));
    }
    if may_be(CKO_NSS_TRUST) {
        all.extend(statements(snapshot, template).into_iter().map(Object::NssTrust));
    }
    if may_be(CKO_TRUST) {
        all.extend(statements(snapshot, template).into_iter().map(Object::Trust));
    }
    if may_be(CKO_X_CERTIFICATE_EXTENSION) {
        all.extend((0..snapshot.store.stapled_len()).map(Object::Extension));
    }
    all
}

fn certificates(snapshot: &Snapshot, template: &[Wanted<'_>]) -> Vec<usize> {
    let store = &snapshot.store;
    // GnuTLS makes this search several times for each certificate.
    if value_of(template, CKA_X_DISTRUSTED) == Some(&[CK_TRUE]) && !store.has_distrust() {
        return Vec::new();
    }
    if let Some(subject) = value_of(template, CKA_SUBJECT) {
        return store.by_subject(subject);
    }
    match (value_of(template, CKA_ISSUER), value_of(template, CKA_SERIAL_NUMBER)) {
        // A certificate whose issuer or serial number is declared empty is indexed by the values in its DER, for
        // searches for statements: a search for empty values has to compare all.
        (Some(issuer), Some(serial)) if !issuer.is_empty() && !serial.is_empty() => {
            store.by_issuer_and_serial(issuer, serial)
        }
        _ => (0..store.len()).collect(),
    }
}

fn statements(snapshot: &Snapshot, template: &[Wanted<'_>]) -> Vec<usize> {
    let store = &snapshot.store;
    match (value_of(template, CKA_ISSUER), value_of(template, CKA_SERIAL_NUMBER)) {
        (Some(issuer), Some(serial)) => store.statements_by_issuer_and_serial(issuer, serial),
        _ => (0..store.statements_end()).collect(),
    }
}

fn matches(view: &View<'_>, wanted: &Wanted<'_>) -> bool {
    match (view, wanted.attribute) {
        // NSS searches for trust objects by the bare number if it finds none by its DER, although PKCS#11 requires the
        // DER.
        (View::NssTrust(statement) | View::Trust(statement), CKA_SERIAL_NUMBER) => statement.has_serial(wanted.value),
        _ => view.attribute(wanted.attribute).is_some_and(|value| value.as_slice() == wanted.value),
    }
}

fn value_of<'a>(template: &[Wanted<'a>], attribute: CK_ATTRIBUTE_TYPE) -> Option<&'a [u8]> {
    template.iter().find(|wanted| wanted.attribute == attribute).map(|wanted| wanted.value)
}
