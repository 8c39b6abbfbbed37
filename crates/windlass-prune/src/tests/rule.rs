//! The rule of docs/prune.md, with every pair of certificates in both kinds of directory.

use std::process::Command;

use windlass_machine::places::certificate::Certificate;

use super::*;

/// Two of the names say that they are for tests.
const NAMES: [&str; 4] = ["Acme Test CA", "Other Test CA", "Acme CA", "Other CA"];
/// From and until, as UTCTime, and whether it is past at `NOW`: expired, two that are valid, not yet valid.
const DATES: [(&str, &str, bool); 4] = [
    ("200101000000Z", "250101000000Z", true),
    ("250101000000Z", "300101000000Z", false),
    ("260101000000Z", "310101000000Z", false),
    ("280101000000Z", "310101000000Z", false),
];

/// An authority, in both forms in which it is stored.
struct Authority {
    pem: Vec<u8>,
    pfx: Vec<u8>,
    hash: String,
    key: String,
    is_expired: bool,
    is_for_tests: bool,
}

fn openssl(arguments: &str, subject: &str) {
    let mut command = Command::new("openssl");
    command
        .args(arguments.split(' '))
        .args((!subject.is_empty()).then_some("-subj"))
        .args(Some(subject).filter(|subject| !subject.is_empty()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Each name with each of two keys and all dates. The dates are written into the certificate, whose signature nobody
/// checks here.
fn authorities() -> Vec<Authority> {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (der, pem, pfx) = (path("der"), path("pem"), path("pfx"));
    let mut all = Vec::new();
    for key in ["first.key", "second.key"].map(path) {
        openssl(&format!("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {key}"), "");
        for name in NAMES {
            openssl(&format!("req -x509 -days 30 -key {key} -outform DER -out {der}"), &format!("/CN={name}"));
            let made = fs::read(&der).unwrap();
            for (from, until, is_expired) in DATES {
                let mut bytes = made.clone();
                let is_time = |&at: &usize| made[at..].starts_with(b"\x17\x0d");
                for (at, time) in (0..made.len()).filter(is_time).zip([from, until]) {
                    bytes[at + 2..at + 15].copy_from_slice(time.as_bytes());
                }
                fs::write(&der, &bytes).unwrap();
                openssl(&format!("x509 -inform DER -in {der} -out {pem}"), "");
                let export = "pkcs12 -export -nokeys -noiter -nomaciter -certpbe PBE-SHA1-3DES -passout pass:";
                openssl(&format!("{export} -in {pem} -out {pfx}"), "");
                let certificate = Certificate::of(&bytes).unwrap();
                assert_eq!((certificate.is_expired(NOW), certificate.name.as_str()), (is_expired, name));
                all.push(Authority {
                    pem: fs::read(&pem).unwrap(),
                    pfx: fs::read(&pfx).unwrap(),
                    hash: certificate.subject_hash().unwrap().to_string(),
                    key: hex(&certificate.key),
                    is_expired,
                    is_for_tests: name.contains("Test"),
                });
            }
        }
    }
    all
}

#[test]
fn a_certificate_goes_for_what_it_is_and_never_for_another() {
    let all = authorities();
    assert_eq!(all.len(), 32);
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let packages = packages::Packages::default();
    for (number, one) in all.iter().enumerate() {
        for other in &all[..number] {
            let stores = ["hashed", "dotnet"].map(|name| place.join(name));
            stores.iter().for_each(|store| fs::create_dir(store).unwrap());
            let [hashed, dotnet] = &stores;
            let second = if one.hash == other.hash { 1 } else { 0 };
            let names = [format!("{}.0", one.hash), format!("{}.{second}", other.hash)];
            for (authority, (hash, pfx)) in [one, other].into_iter().zip(names.iter().zip(["A.pfx", "B.pfx"])) {
                fs::write(hashed.join(hash), &authority.pem).unwrap();
                fs::write(dotnet.join(pfx), &authority.pfx).unwrap();
            }
            // The last anchors of a directory stay: here is another.
            fs::copy(fixture("rsa.pem"), hashed.join(format!("{HASH}.0"))).unwrap();
            for tests in [false, true] {
                let goes = |one: &Authority| one.is_expired || (tests && one.is_for_tests);
                let of = |names: [&str; 2]| {
                    let going = names.into_iter().zip([one, other]).filter(|(_, authority)| goes(authority));
                    going.map(|(name, authority)| (name.to_owned(), authority.key.clone())).collect::<BTreeMap<_, _>>()
                };
                let expected = [of([&names[0], &names[1]]), of(["A.pfx", "B.pfx"])];
                let kinds = [Kind::HashedDirectory, Kind::DotnetStore];
                for ((store, kind), expected) in stores.iter().zip(kinds).zip(expected) {
                    let mut plan = Plan::default();
                    plan.add(store, kind, &context::Context { tests, ..context(&packages) });
                    let found = &plan.stores[0];
                    let items = found
                        .items
                        .iter()
                        .map(|item| (item.name.to_str().unwrap().to_owned(), item.key.clone().unwrap()));
                    assert_eq!(items.collect::<BTreeMap<_, _>>(), expected, "{kind:?} {names:?} {tests}");
                    // Who stays beside it under its name with another key is told.
                    let is_alike = one.hash == other.hash && one.key != other.key && expected.len() == 1;
                    let alike: Vec<_> = found.namesakes.iter().map(|namesake| &namesake.key).collect();
                    let stays = if goes(one) { &other.key } else { &one.key };
                    assert_eq!(alike, if is_alike { vec![stays] } else { vec![] }, "{kind:?} {names:?} {tests}");
                }
            }
            stores.iter().for_each(|store| fs::remove_dir_all(store).unwrap());
        }
    }
}
