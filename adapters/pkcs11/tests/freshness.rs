//! Changes in a place: the next search sees them, also in a session that is open.

mod support;

use cryptoki::error::RvError;
use cryptoki::object::{Attribute, AttributeType};
use support::pki::{CA, Pki, der, write};
use support::{CERTIFICATE, X_DISTRUSTED, by_der, class, is, open, ours, raw, value};

#[test]
fn the_next_search_sees_what_is_new_and_handles_outlive_one_change() {
    let pki = Pki::new();
    let [one, two, three] = ["One", "Two", "Three"].map(|name| pki.certificate("ca", &format!("/CN={name}"), &[CA]));
    let place = pki.path("roots.pem");
    write(&place, &one);
    let module = open(&ours(), place.to_str().unwrap());
    let before = module.session();
    let old = by_der(&before, &der(&one))[0];
    let same = module.session();
    assert_eq!(by_der(&same, &der(&one)), [old], "handles stay as long as nothing changes");
    write(&place, &two);
    let label = |session: &cryptoki::session::Session| session.get_attributes(old, &[AttributeType::Label]);
    assert!(label(&before).is_ok(), "no search has seen the change");
    assert_eq!(by_der(&before, &der(&one)), [], "removed under an open session");
    assert_eq!(by_der(&before, &der(&two)).len(), 1);
    assert!(label(&before).is_ok(), "a handle that the program still has");
    write(&place, &three);
    assert_eq!(by_der(&before, &der(&three)).len(), 1);
    assert!(is(label(&before).unwrap_err(), RvError::ObjectHandleInvalid), "two changes ago");
    write(&place, &two);
    let after = module.session();
    assert_eq!(by_der(&after, &der(&one)), [], "what was removed is not trusted any more");
    assert_eq!(by_der(&after, &der(&two)).len(), 1);
    assert!(is(label(&after).unwrap_err(), RvError::ObjectHandleInvalid));
    std::fs::remove_file(&place).unwrap();
    assert_eq!(module.session().find_objects(&[class(CERTIFICATE)]).unwrap(), []);
}

#[test]
fn a_change_is_seen_however_long_nothing_changed() {
    let pki = Pki::new();
    let (one, two) = (pki.certificate("one", "/CN=One", &[CA]), pki.certificate("two", "/CN=Two", &[CA]));
    let (file, place) = (pki.path("roots.pem"), pki.path("place"));
    write(&file, &one);
    write(&place.join("anchors/one.pem"), &one);
    for path in [&file, &place] {
        let module = open(&ours(), path.to_str().unwrap());
        // A file younger than the clock's granularity is read again each time; this test is about older ones.
        std::thread::sleep(std::time::Duration::from_millis(300));
        for _ in 0..3 {
            assert_eq!(by_der(&module.session(), &der(&one)).len(), 1);
        }
        let changed = if path == &file { file.clone() } else { place.join("anchors/one.pem") };
        write(&changed, &two);
        assert_eq!(by_der(&module.session(), &der(&one)), []);
        assert_eq!(by_der(&module.session(), &der(&two)).len(), 1);
        if path == &place {
            std::thread::sleep(std::time::Duration::from_millis(300));
            assert_eq!(by_der(&module.session(), &der(&two)).len(), 1);
            write(&place.join("anchors/another.pem"), &one);
            assert_eq!(by_der(&module.session(), &der(&one)).len(), 1, "a new file in a directory that is there");
            std::thread::sleep(std::time::Duration::from_millis(300));
            assert_eq!(by_der(&module.session(), &der(&one)).len(), 1);
            write(&place.join("blocklist/one.pem"), &one);
            let distrusted = [class(CERTIFICATE), raw(X_DISTRUSTED, &[1])];
            assert_eq!(module.session().find_objects(&distrusted).unwrap().len(), 1, "a directory that was not there");
        }
    }
}

#[test]
fn a_directory_is_looked_at_file_by_file() {
    let pki = Pki::new();
    let (one, two) = (pki.certificate("one", "/CN=One", &[CA]), pki.certificate("two", "/CN=Two", &[CA]));
    let place = pki.path("place");
    write(&place.join("anchors/one.pem"), &one);
    let module = open(&ours(), place.to_str().unwrap());
    let trusted = |pem: &str| {
        let session = module.session();
        let template = [class(CERTIFICATE), raw(0x11, &der(pem)), Attribute::Trusted(true), raw(X_DISTRUSTED, &[0])];
        session.find_objects(&template).unwrap().len()
    };
    assert_eq!((trusted(&one), trusted(&two)), (1, 0));
    write(&place.join("anchors/two.pem"), &two);
    assert_eq!((trusted(&one), trusted(&two)), (1, 1));
    write(&place.join("anchors/two.pem"), &one);
    assert_eq!((trusted(&one), trusted(&two)), (2, 0));
    std::fs::rename(place.join("anchors"), place.join("blocklist")).unwrap();
    assert_eq!((trusted(&one), trusted(&two)), (0, 0));
    let distrusted = [class(CERTIFICATE), raw(0x11, &der(&one)), raw(X_DISTRUSTED, &[1])];
    assert_eq!(module.session().find_objects(&distrusted).unwrap().len(), 2);
}

#[test]
fn threads_search_while_the_place_changes() {
    let pki = Pki::new();
    let pems: Vec<String> = (0..3).map(|n| pki.certificate("ca", &format!("/CN=CA {n}"), &[CA])).collect();
    let place = pki.path("roots.pem");
    write(&place, &pems[0]);
    let module = open(&ours(), place.to_str().unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let session = module.session();
                    let found = session.find_objects(&[class(CERTIFICATE)]).unwrap();
                    assert_eq!(found.len(), 1);
                    assert!(value(&session, found[0], 0x3).contains("Label"));
                }
            });
        }
        for pem in pems.iter().cycle().take(60) {
            let new = pki.path("new.pem");
            write(&new, pem);
            std::fs::rename(new, &place).unwrap();
        }
    });
}
