//! The module and p11-kit-trust, used through an independent client, the crate `cryptoki`; and places for them to read.
#![allow(dead_code, reason = "each test uses a part")]

pub mod pki;

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::object::{Attribute, AttributeType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;

pub const NSS_TRUST: u64 = 0xCE53_4353;
pub const ROOT_LIST: u64 = 0xCE53_4354;
pub const EXTENSION: u64 = 0xD844_47C8;
pub const X_DISTRUSTED: u64 = 0xD844_4764;
pub const SERVER_DISTRUST_AFTER: u64 = 0xCE53_4373;
pub const NSS_TRUST_SERVER_AUTH: u64 = 0xCE53_6358;
pub const CERTIFICATE: u64 = 1;
pub const TRUST: u64 = 0xB;

/// The attributes of an object of this class that are compared. CKA_MODIFIABLE is not among them: p11-kit can write to
/// its files and we can't.
fn compared(class: u64) -> Vec<u64> {
    let (single, ranges) = match class {
        CERTIFICATE => (
            &[0x11, 0x90, 0x101, 0x102, 0x110, 0x111, 0x129, X_DISTRUSTED][..],
            &[0x80..=0x82, 0x86..=0x8B, 0xCE53_4372..=0xCE53_4374][..],
        ),
        NSS_TRUST => (&[0x81, 0x82, 0x101, 0x102][..], &[0xCE53_6351..=0xCE53_6360, 0xCE53_63B4..=0xCE53_63B5][..]),
        EXTENSION => (&[0x11, 0x12, 0x102, 0x129][..], &[][..]),
        _ => (&[][..], &[][..]),
    };
    (0x1..=0x3).chain(single.iter().copied()).chain(ranges.iter().cloned().flatten()).collect()
}

/// The library under test. cargo does not build a cdylib for tests.
pub fn ours() -> PathBuf {
    let path = std::env::var_os("WINDLASS_PKCS11_LIBRARY").expect(
        "WINDLASS_PKCS11_LIBRARY is not set: build the library (cargo build -p windlass-pkcs11) \
         and name it, or use make test",
    );
    path.into()
}

/// p11-kit's own module: the installed one, or the one that P11_KIT_TRUST names.
pub fn p11_kit() -> PathBuf {
    if let Some(path) = std::env::var_os("P11_KIT_TRUST") {
        return path.into();
    }
    let triplets = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|entry| entry.path());
    let mut paths = triplets.chain([PathBuf::from("/usr/lib")]).map(|path| path.join("pkcs11/p11-kit-trust.so"));
    paths.find(|path| path.exists()).expect("p11-kit-trust.so: install p11-kit-modules")
}

/// A module that is initialised for a list of paths. Only one at a time: a process has each module once.
pub struct Module {
    pub client: Option<Pkcs11>,
    _alone: MutexGuard<'static, ()>,
}

pub fn open(library: &Path, paths: &str) -> Module {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let client = Pkcs11::new(library).unwrap();
    initialize(&client, paths).unwrap();
    Module { client: Some(client), _alone: alone }
}

pub fn initialize(client: &Pkcs11, paths: &str) -> cryptoki::error::Result<()> {
    let text = CString::new(format!("paths='{paths}'")).unwrap();
    let reserved = NonNull::new(text.as_ptr().cast_mut().cast::<c_void>()).unwrap();
    // SAFETY: both modules take a string there, and it lives until the call has returned.
    let arguments = unsafe { CInitializeArgs::new_with_reserved(CInitializeFlags::OS_LOCKING_OK, reserved) };
    client.initialize(arguments)
}

impl Module {
    pub fn client(&self) -> &Pkcs11 {
        self.client.as_ref().unwrap()
    }

    pub fn session(&self) -> Session {
        let slot = self.client().get_all_slots().unwrap()[0];
        self.client().open_ro_session(slot).unwrap()
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.client.take().unwrap().finalize().unwrap();
    }
}

/// A template attribute with any type and value: the client sends it unchanged.
pub fn raw(attribute: u64, value: &[u8]) -> Attribute {
    Attribute::VendorDefined((AttributeType::VendorDefined(attribute), value.to_vec()))
}

pub fn class(class: u64) -> Attribute {
    raw(0, &class.to_ne_bytes())
}

/// One attribute as text, or its error.
pub fn value(session: &Session, object: ObjectHandle, attribute: u64) -> String {
    match session.get_attributes(object, &[AttributeType::VendorDefined(attribute)]) {
        Ok(values) => format!("{values:?}"),
        Err(error) => format!("{error:?}"),
    }
}

/// The bytes of one attribute; None if the object does not have it.
pub fn bytes(session: &Session, object: ObjectHandle, attribute: u64) -> Option<Vec<u8>> {
    match session.get_attributes(object, &[AttributeType::VendorDefined(attribute)]).ok()?.pop()? {
        Attribute::VendorDefined((_, bytes))
        | Attribute::Value(bytes)
        | Attribute::Label(bytes)
        | Attribute::Issuer(bytes)
        | Attribute::SerialNumber(bytes)
        | Attribute::Subject(bytes)
        | Attribute::Id(bytes)
        | Attribute::PublicKeyInfo(bytes) => Some(bytes),
        Attribute::Trusted(value) => Some(vec![u8::from(value)]),
        other => panic!("{other:?}"),
    }
}

/// Whether the module has returned this error.
pub fn is(error: Error, wanted: RvError) -> bool {
    matches!(error, Error::Pkcs11(found, _) if found == wanted)
}

/// All objects of a class with their attributes, in an order that does not depend on the module.
pub fn objects(module: &Module, wanted: u64) -> Vec<BTreeMap<u64, String>> {
    let session = module.session();
    let attributes = compared(wanted);
    let found = session.find_objects(&[class(wanted)]).unwrap();
    // The client can't decode these: their values are determined by searching.
    let numbers = |attribute: u64| -> BTreeMap<String, u64> {
        let with = |number: u64| session.find_objects(&[class(wanted), raw(attribute, &number.to_ne_bytes())]).unwrap();
        (0..4).flat_map(|number| with(number).into_iter().map(move |object| (format!("{object:?}"), number))).collect()
    };
    let undecoded: BTreeMap<u64, _> = [0x87, 0x88].map(|attribute| (attribute, numbers(attribute))).into();
    let value = |object: ObjectHandle, attribute: u64| match undecoded.get(&attribute) {
        Some(numbers) => format!("{:?}", numbers.get(&format!("{object:?}"))),
        None => value(&session, object, attribute),
    };
    let mut all: Vec<BTreeMap<u64, String>> = found
        .into_iter()
        .map(|object| attributes.iter().map(|&attribute| (attribute, value(object, attribute))).collect())
        .collect();
    all.sort();
    all
}

/// The certificate objects with this DER.
pub fn by_der(session: &Session, der: &[u8]) -> Vec<ObjectHandle> {
    session.find_objects(&[Attribute::Class(ObjectClass::CERTIFICATE), raw(0x11, der)]).unwrap()
}
