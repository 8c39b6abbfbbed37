//! Mozilla's real certdata.txt through the token, compared with the output of another reader. tests/certdata/run.sh
//! fetches the file and runs that reader.

mod support;

use std::collections::BTreeSet;

use cryptoki::object::ObjectHandle;
use cryptoki::session::Session;
use support::pki::sha1;
use support::{CERTIFICATE, NSS_TRUST, SERVER_DISTRUST_AFTER, X_DISTRUSTED, bytes, class, open, ours, raw};

const EMAIL_DISTRUST_AFTER: u64 = 0xCE53_4374;
/// Server, e-mail, code.
const PURPOSES: [u64; 3] = [0xCE53_6358, 0xCE53_635B, 0xCE53_635A];

#[test]
#[ignore = "needs certdata.txt and its reading: tests/certdata/run.sh"]
fn mozillas_own_list() {
    let variable = |name| std::env::var(name).expect(name);
    let expected = std::fs::read_to_string(variable("WINDLASS_CERTDATA_EXPECTED")).unwrap();
    let expected: BTreeSet<&str> = expected.lines().collect();
    let module = open(&ours(), &variable("WINDLASS_CERTDATA"));
    let session = module.session();
    let certificates = session.find_objects(&[class(CERTIFICATE)]).unwrap();
    let found: BTreeSet<String> = certificates.iter().map(|object| line(&session, *object)).collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let wrong: Vec<_> = found.symmetric_difference(&expected).collect();
    println!("certdata: {} passed, {} failed", found.intersection(&expected).count(), wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(found.len() > 100 && certificates.len() == found.len());
}

/// The trust of a certificate, in the words of certdata.txt.
fn line(session: &Session, object: ObjectHandle) -> String {
    let of = |attribute| bytes(session, object, attribute);
    let value = of(0x11).expect("CKA_VALUE");
    let after = |attribute| of(attribute).map_or("-".to_owned(), |day| hex(&day));
    let truth = |attribute| of(attribute).map_or(0, |value| value[0]);
    let about = [raw(0x81, &of(0x81).unwrap()), raw(0x82, &of(0x82).unwrap()), class(NSS_TRUST)];
    let [statement] = session.find_objects(&about).unwrap()[..] else { panic!("one statement about each") };
    let words = PURPOSES.map(|purpose| {
        let said = bytes(session, statement, purpose).unwrap();
        match u64::from_ne_bytes(said.try_into().unwrap()) {
            0xCE53_4352 => "CKT_NSS_TRUSTED_DELEGATOR",
            0xCE53_4353 => "CKT_NSS_MUST_VERIFY_TRUST",
            0xCE53_435A => "CKT_NSS_NOT_TRUSTED",
            _ => "another",
        }
    });
    format!(
        "{} {} {} {} {} {} {}",
        hex(&sha1(&value)),
        hex(&of(0x3).unwrap()),
        truth(0x86),
        truth(X_DISTRUSTED),
        after(SERVER_DISTRUST_AFTER),
        after(EMAIL_DISTRUST_AFTER),
        words.join(" ")
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
