//! The behaviour of the module: its information, its searches, its errors, and its state in a forked process.

mod support;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::RvError;
use cryptoki::object::{Attribute, ObjectClass};
use support::pki::{CA, Pki, der, write};
use support::{CERTIFICATE, NSS_TRUST, ROOT_LIST, TRUST, X_DISTRUSTED, bytes, class, initialize, is, open, ours, raw};

#[test]
fn what_it_says_of_itself() {
    let pki = Pki::new();
    write(&pki.path("place/one.pem"), pki.certificate("ca", "/CN=CA", &[CA]));
    let place = pki.path("place/one.pem");
    let module = open(&ours(), &format!("/etc/windlass-nothing:{}", place.display()));
    let info = module.client().get_library_info().unwrap();
    assert!(info.manufacturer_id().starts_with("PKCS#11 Kit"), "GnuTLS asks no others for distrust");
    assert_eq!((info.cryptoki_version().major(), info.cryptoki_version().minor()), (3, 0), "the client asks for 3.0");
    let slots = module.client().get_slots_with_initialized_token().unwrap();
    assert_eq!(slots.len(), 2);
    let tokens: Vec<_> = slots.iter().map(|slot| module.client().get_token_info(*slot).unwrap()).collect();
    assert_eq!(tokens[0].label(), "System Trust");
    assert_eq!(tokens[1].label(), "one.pem");
    assert!(tokens.iter().all(|token| token.write_protected() && !token.login_required()));
    assert!(module.client().get_mechanism_list(slots[0]).unwrap().is_empty());
    assert_eq!(module.session().find_objects(&[]).unwrap().len(), 1, "nothing there: the root list alone");
}

#[test]
fn nothing_can_be_changed() {
    let module = open(&ours(), "/etc/ssl/certs/ca-certificates.crt");
    let slot = module.client().get_all_slots().unwrap()[0];
    let refused = module.client().open_rw_session(slot).err().unwrap();
    assert!(is(refused, RvError::TokenWriteProtected));
    let session = module.session();
    assert!(is(session.create_object(&[]).unwrap_err(), RvError::TokenWriteProtected));
    let object = session.find_objects(&[class(CERTIFICATE)]).unwrap()[0];
    assert!(is(session.destroy_object(object).unwrap_err(), RvError::TokenWriteProtected));
    assert!(is(session.update_attributes(object, &[raw(3, b"x")]).unwrap_err(), RvError::TokenWriteProtected));
    assert!(is(session.logout().unwrap_err(), RvError::UserNotLoggedIn));
    assert!(session.generate_random_slice(&mut [0; 8]).is_err());
}

#[test]
fn searches_by_all_that_consumers_ask() {
    let pki = Pki::new();
    let (one, two) = (pki.certificate("one", "/CN=One", &[CA]), pki.certificate("two", "/CN=Two", &[CA]));
    write(&pki.path("roots.pem"), format!("{one}{two}{one}"));
    let module = open(&ours(), pki.path("roots.pem").to_str().unwrap());
    let session = module.session();
    let all = session.find_objects(&[class(CERTIFICATE)]).unwrap();
    assert_eq!(all.len(), 3, "duplicates are listed, as p11-kit lists them");
    assert_eq!(session.find_objects(&[class(NSS_TRUST)]).unwrap().len(), 2);
    assert_eq!(session.find_objects(&[class(TRUST)]).unwrap().len(), 2);
    assert_eq!(session.find_objects(&[class(ROOT_LIST)]).unwrap().len(), 1);
    assert_eq!(session.find_objects(&[]).unwrap().len(), 1 + 3 + 2 + 2);
    assert_eq!(session.find_objects(&[class(3)]).unwrap(), []);
    let value = |attribute| bytes(&session, all[1], attribute).unwrap();
    let (subject, id) = (raw(0x101, &value(0x101)), raw(0x102, &value(0x102)));
    let (issuer, serial) = (raw(0x81, &value(0x81)), value(0x82));
    let certificate = class(CERTIFICATE);
    for template in [
        vec![subject.clone()],
        vec![subject.clone(), id.clone()],
        vec![id],
        vec![issuer.clone(), raw(0x82, &serial)],
        vec![raw(0x82, &serial)],
        vec![raw(0x11, &value(0x11))],
        vec![raw(0x129, &value(0x129)), raw(X_DISTRUSTED, &[0])],
        vec![subject.clone(), Attribute::Trusted(true), raw(0x87, &2u64.to_ne_bytes()), raw(0x80, &0u64.to_ne_bytes())],
    ] {
        let template = [vec![certificate.clone()], template].concat();
        assert_eq!(session.find_objects(&template).unwrap(), [all[1]], "{template:?}");
    }
    // Every certificate of a subject, in source order.
    let first = bytes(&session, all[0], 0x101).unwrap();
    assert_eq!(session.find_objects(&[certificate.clone(), raw(0x101, &first)]).unwrap(), [all[0], all[2]]);
    for template in [
        vec![subject.clone(), raw(0x102, b"other")],
        vec![subject.clone(), raw(X_DISTRUSTED, &[1])],
        vec![raw(0x101, b"")],
        vec![raw(0x129, b"x"), raw(X_DISTRUSTED, &[1])],
        vec![issuer.clone(), raw(0x82, serial.get(2..).unwrap())],
        vec![raw(0x7777, b"")],
    ] {
        let template = [vec![certificate.clone()], template].concat();
        assert_eq!(session.find_objects(&template).unwrap(), [], "{template:?}");
    }
    // NSS searches for trust objects by the DER of the number, and then without its tag and length.
    for number in [&serial[..], &serial[2..]] {
        for wanted in [NSS_TRUST, TRUST] {
            let found = session.find_objects(&[class(wanted), issuer.clone(), raw(0x82, number)]).unwrap();
            assert_eq!(found.len(), 1);
        }
    }
}

#[test]
fn what_only_we_cannot_read_takes_all_trust_away_and_no_distrust() {
    let pki = Pki::new();
    let one = pki.certificate("one", "/CN=One", &[CA]);
    // The same certificate with an indefinite length around it: BER, which p11-kit reads.
    let der = der(&one);
    assert_eq!(der[..2], [0x30, 0x82]);
    let ber = [&[0x30, 0x80], &der[4..], &[0, 0]].concat();
    let place = pki.path("place");
    let two = pki.certificate("two", "/CN=Two", &[CA]);
    write(&place.join("anchors/one.pem"), &one);
    write(&place.join("blocklist/one.ber"), &ber);
    write(&place.join("blocklist/two.pem"), &two);
    let module = open(&ours(), place.to_str().unwrap());
    let found = |more: Attribute| module.session().find_objects(&[class(CERTIFICATE), more]).unwrap().len();
    assert_eq!((found(Attribute::Trusted(true)), found(raw(X_DISTRUSTED, &[1]))), (0, 1));
    std::fs::remove_file(place.join("blocklist/one.ber")).unwrap();
    assert_eq!((found(Attribute::Trusted(true)), found(raw(X_DISTRUSTED, &[1]))), (1, 1));
}

#[test]
fn no_token_trusts_while_another_place_cannot_be_read() {
    let pki = Pki::new();
    let one = pki.certificate("one", "/CN=One", &[CA]);
    let ber = [&[0x30, 0x80], &der(&one)[4..], &[0, 0]].concat();
    write(&pki.path("a/anchors/one.pem"), &one);
    write(&pki.path("b/blocklist/two.pem"), pki.certificate("two", "/CN=Two", &[CA]));
    let module = open(&ours(), &format!("{}:{}", pki.path("a").display(), pki.path("b").display()));
    let slots = module.client().get_all_slots().unwrap();
    let all = |wanted: Attribute| -> Vec<_> {
        let sessions = slots.iter().map(|slot| module.client().open_ro_session(*slot).unwrap());
        sessions.map(|session| session.find_objects(&[class(CERTIFICATE), wanted.clone()]).unwrap().len()).collect()
    };
    let (trusted, distrusted) = (Attribute::Trusted(true), raw(X_DISTRUSTED, &[1]));
    assert_eq!((all(trusted.clone()), all(distrusted.clone())), (vec![1, 0], vec![0, 1]));
    write(&pki.path("b/blocklist/one.ber"), &ber);
    assert_eq!((all(trusted.clone()), all(distrusted.clone())), (vec![0, 0], vec![0, 1]));
    std::fs::remove_file(pki.path("b/blocklist/one.ber")).unwrap();
    assert_eq!((all(trusted), all(distrusted)), (vec![1, 0], vec![0, 1]));
}

#[test]
fn distrust_is_told_while_the_place_changes() {
    let pki = Pki::new();
    let (one, two) = (pki.certificate("one", "/CN=One", &[CA]), pki.certificate("two", "/CN=Two", &[CA]));
    let place = pki.path("place");
    write(&place.join("blocklist/one.pem"), &one);
    let module = open(&ours(), place.to_str().unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                write(&place.join("anchors/two.pem"), &two);
                std::fs::remove_file(place.join("anchors/two.pem")).unwrap();
            }
        });
        let distrusted = [class(CERTIFICATE), raw(X_DISTRUSTED, &[1])];
        let all = (0..300).all(|_| module.session().find_objects(&distrusted).is_ok_and(|found| found.len() == 1));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(all);
    });
}

#[test]
fn a_session_handle_is_never_given_twice() {
    // The library stays loaded, as in any program that has not closed it.
    let _loaded = Pkcs11::new(ours()).unwrap();
    let module = open(&ours(), "/etc/ssl/certs/ca-certificates.crt");
    let old = module.session().handle();
    drop(module);
    let again = open(&ours(), "/etc/ssl/certs/ca-certificates.crt");
    assert_ne!(again.session().handle(), old);
}

#[test]
fn each_initialisation_has_its_own_end() {
    let module = open(&ours(), "/etc/ssl/certs/ca-certificates.crt");
    let second = Pkcs11::new(ours()).unwrap();
    second.initialize(CInitializeArgs::new(CInitializeFlags::empty())).unwrap();
    let session = module.session();
    second.finalize().unwrap();
    assert!(!session.find_objects(&[Attribute::Class(ObjectClass::CERTIFICATE)]).unwrap().is_empty());
}

#[test]
fn a_forked_child_begins_anew() {
    let module = open(&ours(), "/etc/ssl/certs/ca-certificates.crt");
    let session = module.session();
    let count = session.find_objects(&[class(CERTIFICATE)]).unwrap().len();
    // SAFETY: the child calls the module and leaves with _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let uninitialised = session.find_objects(&[]).is_err_and(|error| is(error, RvError::CryptokiNotInitialized));
        let initialised = initialize(module.client(), "/etc/ssl/certs/ca-certificates.crt").is_ok();
        let invalid = session.find_objects(&[]).is_err_and(|error| is(error, RvError::SessionHandleInvalid));
        let same = module.session().find_objects(&[class(CERTIFICATE)]).is_ok_and(|found| found.len() == count);
        let failed = [uninitialised, initialised, invalid, same].iter().position(|fine| !fine);
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(failed.map_or(0, |place| place as i32 + 1)) };
    }
    let mut status = 0;
    // SAFETY: our own child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the check that failed, times 256");
    assert_eq!(session.find_objects(&[class(CERTIFICATE)]).unwrap().len(), count, "the parent goes on");
}
