//! How consumers read places in which several files refer to one certificate: never more trust than with p11-kit-trust.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use cryptoki::object::{Attribute, ObjectHandle};
use cryptoki::session::Session;
use support::pki::{CA, Parts, Pki, der, octets, sha1, sha256, write};
use support::{CERTIFICATE, EXTENSION, NSS_TRUST, TRUST, X_DISTRUSTED, class, open, ours, p11_kit, raw, value};

/// CKA_NSS_TRUST_SERVER_AUTH and the four that NSS reads with it; PKCS#11 3.2 has its own from 0x62C on.
const NSS_PURPOSES: [u64; 4] = [0xCE53_6358, 0xCE53_6359, 0xCE53_635A, 0xCE53_635B];
const PURPOSES: [u64; 4] = [0x62C, 0x62D, 0x62E, 0x62F];
/// 2.5.29.19 CA:FALSE, 2.5.29.15 digitalSignature, 2.5.29.37 emailProtection; and the last in BER.
const NO_CA: &[u8] = b"\x30\x09\x06\x03\x55\x1D\x13\x04\x02\x30\x00";
const SIGNS: &[u8] = b"\x30\x0B\x06\x03\x55\x1D\x0F\x04\x04\x03\x02\x07\x80";
const EMAIL: &[u8] = b"\x30\x13\x06\x03\x55\x1D\x25\x04\x0C\x30\x0A\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x04";
const EMAIL_BER: &[u8] = b"\x30\x81\x13\x06\x03\x55\x1D\x25\x04\x0C\x30\x0A\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x04";

/// One file that a place may have.
struct Ingredient {
    path: &'static str,
    text: String,
    /// Whether p11-kit and we must agree about places of these files. False if one file trusts a certificate and
    /// another of the same standing distrusts it, if p11-kit reads nothing, and if 0.24 and 0.26 differ.
    ordinary: bool,
}

fn ingredients(pki: &Pki) -> (Vec<Ingredient>, Vec<Vec<u8>>) {
    let one = pki.certificate("one", "/CN=One", &[CA]);
    let serial = pki.serial("one");
    let twin = pki.with_serial("twin", "/CN=One", &[CA], &serial);
    let two = pki.certificate("two", "/CN=Two", &[CA]);
    let trusted = pki.trusted("one", &["-addtrust", "serverAuth", "-addreject", "emailProtection"]);
    let ders: Vec<Vec<u8>> = [&one, &twin, &two].map(|pem| der(pem)).into();
    let parts = Parts::of(&ders[0]);
    let (issuer, number, key) = (octets(parts.issuer), octets(parts.serial), octets(parts.spki));
    let hash = octets(&sha1(&ders[0]));
    let stub = |field: &str| format!("[p11-kit-object-v1]\nclass: certificate\ncertificate-type: x-509\n{field}\n");
    let by_number = stub(&format!("issuer: {issuer}\nserial-number: {number}"));
    let said = |what: &str, pem: &str| format!("[p11-kit-object-v1]\n{what}: true\n{pem}");
    // The numbers of CKA_NSS_TRUST_SERVER_AUTH and _EMAIL_PROTECTION: 0.24 and 0.26 have other names for them.
    let statement = |hash: Option<&str>, word: &str| {
        let hash = hash.map(|hash| format!("nss-cert-sha1-hash: {hash}\n")).unwrap_or_default();
        format!(
            "[p11-kit-object-v1]\nclass: nss-trust\nissuer: {issuer}\n\
             serial-number: {number}\n{hash}{}: {word}\n{}: {word}\n",
            NSS_PURPOSES[0], NSS_PURPOSES[3]
        )
    };
    let stapled = |der: &[u8], oid: &str| {
        format!(
            "[p11-kit-object-v1]\nclass: x-certificate-extension\nobject-id: {oid}\n\
             value: {}\npublic-key-info: {key}\n",
            octets(der)
        )
    };
    let hash = Some(hash.as_str());
    let all = [
        ("anchors/one.pem", one.clone(), true),
        ("anchors/twin.pem", twin.clone(), false),
        ("anchors/two.pem", two.clone(), true),
        ("anchors/trusted.pem", trusted, true),
        ("blocklist/one.pem", one.clone(), true),
        ("blocklist/twin.pem", twin, false),
        ("blocklist/number.p11-kit", by_number.clone(), true),
        ("anchors/z-issuer.p11-kit", stub(&format!("issuer: {issuer}")), false),
        ("one.pem", one.clone(), true),
        ("trusted.p11-kit", said("trusted", &one), false),
        ("distrusted.p11-kit", said("x-distrusted", &one), false),
        ("number.p11-kit", by_number.replace("x-509\n", "x-509\nx-distrusted: true\n"), false),
        ("anchors/distrusted.p11-kit", said("x-distrusted", &one), false),
        ("anchors/both.p11-kit", format!("{}{}", said("x-distrusted", &one), said("trusted", &one)), false),
        ("first.p11-kit", statement(hash, "nss-trusted-delegator"), false),
        ("anchors/statement.p11-kit", statement(hash, "nss-trusted-delegator"), false),
        ("anchors/no-statement.p11-kit", statement(hash, "nss-not-trusted"), false),
        ("blocklist/statement.p11-kit", statement(hash, "nss-trust-unknown"), false),
        ("unhashed.p11-kit", statement(None, "nss-trusted-delegator"), false),
        ("anchors/unhashed.p11-kit", statement(None, "nss-not-trusted"), false),
        ("email.p11-kit", stapled(EMAIL, "2.5.29.37"), true),
        ("anchors/email.p11-kit", stapled(EMAIL, "2.5.29.37"), false),
        ("anchors/ber.p11-kit", stapled(EMAIL_BER, "2.5.29.37"), false),
        ("anchors/signs.p11-kit", stapled(SIGNS, "2.5.29.15"), true),
        ("anchors/no-ca.p11-kit", stapled(NO_CA, "2.5.29.19"), false),
        ("a-no-ca.p11-kit", stapled(NO_CA, "2.5.29.19"), true),
    ];
    let all = all.map(|(path, text, ordinary)| Ingredient { path, text, ordinary });
    (all.into(), ders)
}

/// The verdicts of consumers on a module, from the way they use its objects.
#[derive(Debug, Default)]
struct Verdicts {
    /// NSS, for each certificate and purpose: see [`rank`].
    nss: BTreeMap<String, u8>,
    /// NSS since 3.114, where the module has CKO_TRUST.
    trust: BTreeMap<String, u8>,
    /// GnuTLS: certificates that it takes for anchors and does not refuse.
    gnutls: BTreeSet<Vec<u8>>,
    /// GnuTLS: certificates that it refuses.
    refused: BTreeSet<Vec<u8>>,
    /// `trust list`: each certificate as it is listed.
    listed: Vec<String>,
    stapled: Vec<String>,
}

fn verdicts(module: &std::path::Path, place: &str, ders: &[Vec<u8>]) -> Verdicts {
    let module = open(module, place);
    let session = module.session();
    let mut all = Verdicts::default();
    for (number, name) in ["one", "twin", "two"].into_iter().enumerate() {
        let der = &ders[number];
        for (nss, into) in [(true, &mut all.nss), (false, &mut all.trust)] {
            for (purpose, rank) in NSS_PURPOSES.iter().zip(as_nss(&session, ders, number, nss)) {
                into.insert(format!("{name} {purpose:#x}"), rank);
            }
        }
        let parts = Parts::of(der);
        let anchor = [
            class(CERTIFICATE),
            raw(0x80, &0u64.to_ne_bytes()),
            Attribute::Trusted(true),
            raw(0x87, &2u64.to_ne_bytes()),
        ];
        let anchor =
            session.find_objects(&[&anchor[..], &[raw(0x101, parts.subject), raw(0x11, der)]].concat()).unwrap();
        let distrusted = [class(CERTIFICATE), raw(X_DISTRUSTED, &[1])];
        let by = |more: &[Attribute]| session.find_objects(&[&distrusted[..], more].concat()).unwrap().len();
        let number = by(&[raw(0x82, parts.serial), raw(0x81, parts.issuer)]);
        match number + by(&[raw(0x11, der)]) {
            0 if anchor.is_empty() => {}
            0 => drop(all.gnutls.insert(der.clone())),
            _ => drop(all.refused.insert(der.clone())),
        }
    }
    let described = |wanted: u64, attributes: &[u64]| -> Vec<String> {
        let found = session.find_objects(&[class(wanted)]).unwrap();
        let mut all: Vec<String> =
            found.iter().map(|object| format!("{:?}", values(&session, *object, attributes))).collect();
        all.sort();
        all
    };
    all.listed = described(CERTIFICATE, &[0x3, 0x11, 0x81, 0x82, 0x86, X_DISTRUSTED, 0x87]);
    all.stapled = described(EXTENSION, &[0x11, 0x12, 0x129]);
    all
}

/// NSS's trust in a certificate: of the objects with its issuer and serial number the first one counts, if it has the
/// hash of the certificate; one without a hash counts only if it gives no trust (lib/dev/devtoken.c,
/// lib/pki/pki3hack.c).
fn as_nss(session: &Session, ders: &[Vec<u8>], number: usize, nss: bool) -> [u8; 4] {
    let parts = Parts::of(&ders[number]);
    let (wanted, purposes) = if nss { (NSS_TRUST, NSS_PURPOSES) } else { (TRUST, PURPOSES) };
    let template = [class(wanted), raw(0x81, parts.issuer), raw(0x82, parts.serial)];
    let Some(first) = session.find_objects(&template).unwrap().first().copied() else { return [UNKNOWN; 4] };
    // The client knows no attributes of PKCS#11 3.2: their values are determined by searching.
    let has = |attribute: u64, value: &[u8]| {
        session.find_objects(&[&template[..], &[raw(attribute, value)]].concat()).unwrap().first() == Some(&first)
    };
    let ranks = purposes.map(|purpose| {
        let values = (0..5u64).chain(0xCE53_4351..=0xCE53_435A).map(u64::to_ne_bytes);
        values.into_iter().find(|value| has(purpose, value)).map_or(UNKNOWN, |value| rank(&value))
    });
    let hash = if nss { 0xCE53_63B4 } else { 0x635 };
    let has_hash_of = |der: &Vec<u8>| has(hash, &sha1(der)) || has(hash, &sha256(der));
    if has_hash_of(&ders[number]) {
        return ranks;
    }
    if ders.iter().any(has_hash_of) || ranks.iter().any(|rank| *rank > UNKNOWN) { [UNKNOWN; 4] } else { ranks }
}

const UNKNOWN: u8 = 1;

/// 0 distrusted, 1 no statement, 2 trusted, 3 an anchor.
fn rank(value: &[u8]) -> u8 {
    match u64::from_ne_bytes(value.try_into().unwrap()) {
        0xCE53_435A | 3 => 0,
        0xCE53_4351 | 1 => 2,
        0xCE53_4352 | 2 => 3,
        _ => UNKNOWN,
    }
}

fn values(session: &Session, object: ObjectHandle, attributes: &[u64]) -> Vec<String> {
    attributes.iter().map(|attribute| value(session, object, *attribute)).collect()
}

/// Whether p11-kit reads the files of a directory in the order of their names. 0.24 uses the order of the file system.
fn reads_in_order() -> bool {
    let module = open(&p11_kit(), "/nowhere");
    let version = module.client().get_library_info().unwrap().library_version();
    (version.major(), version.minor()) >= (0, 26)
}

/// Whether that order decides the result: two files of one directory, neither of which distrusts, contradict each
/// other.
fn depends_on_order(names: &[&str]) -> bool {
    names.contains(&"one.pem") && names.contains(&"trusted.p11-kit")
}

/// Each file alone, each pair, and many choices of three to six.
fn choices(count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = (0..count).map(|one| vec![one]).collect();
    all.extend((0..count).flat_map(|one| (0..one).map(move |other| vec![other, one])));
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..300 {
        all.push({
            let wanted = random.usize(3..=6);
            random.choose_multiple(0..count, wanted)
        });
    }
    all
}

#[test]
fn no_consumer_trusts_more_than_with_p11_kit() {
    let pki = Pki::new();
    let (ingredients, ders) = ingredients(&pki);
    let mut faults = Vec::new();
    let in_order = reads_in_order();
    for (number, choice) in choices(ingredients.len()).into_iter().enumerate() {
        let chosen: Vec<&Ingredient> = choice.iter().map(|n| &ingredients[*n]).collect();
        let place = pki.path(&format!("place-{number}"));
        for file in &chosen {
            write(&place.join(file.path), &file.text);
        }
        let place = place.to_str().unwrap();
        let names: Vec<&str> = chosen.iter().map(|file| file.path).collect();
        if !in_order && depends_on_order(&names) {
            continue;
        }
        let mut fault = |what: String| faults.push(format!("{names:?}: {what}"));
        let (theirs, mine) = (verdicts(&p11_kit(), place, &ders), verdicts(&ours(), place, &ders));
        for (key, rank) in &mine.nss {
            if *rank > theirs.nss[key] {
                fault(format!("NSS trusts {key}: {rank} instead of {}", theirs.nss[key]));
            }
            if *rank != mine.trust[key] {
                fault(format!("CKO_TRUST of {key}: {} instead of {rank}", mine.trust[key]));
            }
        }
        for der in mine.gnutls.difference(&theirs.gnutls) {
            fault(format!("GnuTLS trusts {}", if *der == ders[0] { "one" } else { "another" }));
        }
        for _ in theirs.refused.difference(&mine.refused) {
            fault("GnuTLS refuses one more with p11-kit".to_owned());
        }
        // An unreadable file counts as missing, and then nothing is trusted.
        let is_unread = names.contains(&"anchors/ber.p11-kit");
        if is_unread && (!mine.gnutls.is_empty() || mine.nss.values().any(|rank| *rank > UNKNOWN)) {
            fault("trusted though something can't be read".to_owned());
        }
        if mine.stapled != theirs.stapled && !is_unread {
            fault(format!("stapled: {:?}, not {:?}", mine.stapled, theirs.stapled));
        }
        if chosen.iter().all(|file| file.ordinary) {
            if mine.nss != theirs.nss {
                fault(format!("NSS: {:?}, not {:?}", mine.nss, theirs.nss));
            }
            if mine.gnutls != theirs.gnutls {
                fault(format!("GnuTLS: {} anchors, not {}", mine.gnutls.len(), theirs.gnutls.len()));
            }
            if mine.listed != theirs.listed {
                fault(format!("listed: {:?}, not {:?}", mine.listed, theirs.listed));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults, the first of them:\n{}",
        faults.len(),
        faults[..faults.len().min(25)].join("\n")
    );
}
