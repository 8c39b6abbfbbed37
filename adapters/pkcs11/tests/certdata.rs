//! Mozilla's certdata.txt, through the token.

mod support;

use support::pki::{CA, Parts, Pki, der, octal, write};
use support::{
    EXTENSION, NSS_TRUST, NSS_TRUST_SERVER_AUTH, SERVER_DISTRUST_AFTER, TRUST, X_DISTRUSTED, by_der, class, open, ours,
    raw, value,
};

#[test]
fn mozillas_list_with_purposes_distrust_and_days_of_distrust() {
    let pki = Pki::new();
    let (good, bad) = (pki.certificate("good", "/CN=Good", &[CA]), pki.certificate("bad", "/CN=Bad", &[CA]));
    let late = pki.certificate("late", "/CN=Late", &[CA]);
    let mut text = String::from(
        "# Mozilla\nBEGINDATA\nCKA_CLASS CK_OBJECT_CLASS CKO_NSS_BUILTIN_ROOT_LIST\n\
         CKA_LABEL UTF8 \"Mozilla Builtin Roots\"\n\n",
    );
    // In the real file some distrust dates are part of the trust object.
    let with_trust = format!("# comment\nCKA_NSS_SERVER_DISTRUST_AFTER {}\n", octal(b"260415235959Z"));
    let never = "CK_BBOOL CK_FALSE".to_owned();
    for (name, pem, after, also, server, email) in [
        ("good", &good, octal(b"240731000000Z"), "", "TRUSTED_DELEGATOR", "MUST_VERIFY_TRUST"),
        ("bad", &bad, never.clone(), "", "NOT_TRUSTED", "NOT_TRUSTED"),
        ("late", &late, never, with_trust.as_str(), "TRUSTED_DELEGATOR", "TRUSTED_DELEGATOR"),
    ] {
        let der = der(pem);
        let parts = Parts::of(&der);
        let (issuer, serial) = (octal(parts.issuer), octal(parts.serial));
        text += &format!(
            "CKA_CLASS CK_OBJECT_CLASS CKO_CERTIFICATE\nCKA_LABEL UTF8 \"The {name}\"\nCKA_CERTIFICATE_TYPE \
             CK_CERTIFICATE_TYPE CKC_X_509\nCKA_ID UTF8 \"0\"\nCKA_VALUE {}\n\
             CKA_NSS_MOZILLA_CA_POLICY CK_BBOOL CK_TRUE\n\
             CKA_NSS_SERVER_DISTRUST_AFTER {after}\n\nCKA_CLASS CK_OBJECT_CLASS CKO_NSS_TRUST\n\
             CKA_LABEL UTF8 \"The {name}\"\n\
             CKA_ISSUER {issuer}\nCKA_SERIAL_NUMBER {serial}\n{also}CKA_TRUST_SERVER_AUTH CK_TRUST CKT_NSS_{server}\n\
             CKA_TRUST_EMAIL_PROTECTION CK_TRUST CKT_NSS_{email}\nCKA_TRUST_STEP_UP_APPROVED CK_BBOOL CK_FALSE\n\n",
            octal(&der)
        );
    }
    write(&pki.path("certdata.txt"), text);
    let module = open(&ours(), pki.path("certdata.txt").to_str().unwrap());
    let session = module.session();
    let (good, bad) = (by_der(&session, &der(&good))[0], by_der(&session, &der(&bad))[0]);
    let trusted = |object| value(&session, object, 0x86);
    assert_eq!((trusted(good), trusted(bad)), ("[Trusted(true)]".into(), "[Trusted(false)]".into()));
    assert!(value(&session, good, SERVER_DISTRUST_AFTER).contains("[50, 52, 48, 55, 51, 49"));
    assert!(value(&session, bad, SERVER_DISTRUST_AFTER).ends_with("[0]))]"));
    let late = by_der(&session, &der(&late))[0];
    assert!(value(&session, late, SERVER_DISTRUST_AFTER).contains("[50, 54, 48, 52, 49, 53"));
    assert!(value(&session, good, 0xCE53_4372).ends_with("[1]))]"));
    assert!(value(&session, bad, X_DISTRUSTED).ends_with("[1]))]"));
    assert_eq!(session.find_objects(&[class(EXTENSION)]).unwrap().len(), 2, "limited to what is said");
    let with = |wanted, attribute: u64, verdict: u64| {
        session.find_objects(&[class(wanted), raw(attribute, &verdict.to_ne_bytes())]).unwrap().len()
    };
    assert_eq!(with(NSS_TRUST, NSS_TRUST_SERVER_AUTH, 0xCE53_4352), 2);
    assert_eq!(with(NSS_TRUST, NSS_TRUST_SERVER_AUTH, 0xCE53_435A), 1);
    // PKCS#11 3.2: server 0x62C, e-mail 0x62F; 2 an anchor, 3 not trusted, 4 to be verified.
    assert_eq!((with(TRUST, 0x62C, 2), with(TRUST, 0x62C, 3), with(TRUST, 0x62F, 4)), (2, 1, 1));
    assert_eq!(with(TRUST, 0x8C, 0x250), 3, "SHA-256 of the certificate");
}
