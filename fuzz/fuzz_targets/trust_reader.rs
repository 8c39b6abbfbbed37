//! Any files in a place of the trust token: reading ends, everything in it can be asked for, and who asks about a
//! distrusted certificate by its issuer and serial number is never told of trust.
//!
//! The input is a list of files, each behind one byte and its length in two: 0 stands for the place itself, 1 for
//! `anchors`, 2 for `blocklist`. An input that begins with 0xFF is one file that is the place.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use windlass_trust::{KeyUse, Purpose, TrustLocation, TrustStore, Verdict};
use windlass::{Config, RootStore, TrustCache};
use windlass_fuzz::{memory, seeds};

const ONE_FILE: u8 = 0xFF;
const DIRECTORIES: [&str; 3] = ["", "anchors", "blocklist"];
/// Files of one input: more take time and show nothing new.
const MOST: usize = 8;
/// Bytes of memory for each byte of input, and a fixed part.
const MEMORY: (usize, usize) = (400, 1 << 20);

fuzz_target!(
    init: seeds::write(seeds),
    |data: &[u8]| {
        let place = place();
        // What is there of the input before is gone, whatever it was.
        let _ = fs::remove_dir_all(&place).or_else(|_| fs::remove_file(&place));
        match data.strip_prefix(&[ONE_FILE]) {
            Some(text) => fs::write(&place, text).expect("a place to write to"),
            None => write_files(&place, data),
        }
        let cache = TrustCache::new(Config::default(), None);
        let (store, peak) = memory::peak_of(|| TrustLocation::new(place).load(&cache));
        assert!(peak <= data.len() * MEMORY.0 + MEMORY.1, "{peak} bytes for {}", data.len());
        look(&store);
        look(&store.distrust_only());
    }
);

/// In memory where there is such a place: each input writes files.
fn place() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let folder = base.join(format!("windlass-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder to write to");
        folder
    });
    FOLDER.join("place")
}

fn write_files(place: &Path, mut data: &[u8]) {
    fs::create_dir_all(place).expect("a place to write to");
    for number in 0..MOST {
        let Some((&[directory, high, low], rest)) = data.split_first_chunk() else { return };
        let (text, rest) = rest.split_at(usize::from(u16::from_be_bytes([high, low])).min(rest.len()));
        let folder = place.join(DIRECTORIES[usize::from(directory) % DIRECTORIES.len()]);
        fs::create_dir_all(&folder).expect("a place to write to");
        fs::write(folder.join(number.to_string()), text).expect("a place to write to");
        data = rest;
    }
}

/// Asks for everything.
fn look(store: &TrustStore) {
    for number in 0..store.len() {
        let certificate = store.certificate(number).expect("it is counted");
        let _ = (certificate.label(), certificate.id(), certificate.category(), certificate.validity());
        let _ = (certificate.sha1(), certificate.server_distrust_after(), certificate.email_distrust_after());
        if let Some(subject) = certificate.subject() {
            assert!(store.by_subject(subject).contains(&number));
        }
        assert!(!certificate.is_trusted() || store.fault().is_none());
        // By what it is said to have, or else by what it has: who asks has the certificate.
        let own = certificate.der().and_then(issuer_and_serial);
        let or_own = |said: Option<&[u8]>, own: Option<&[u8]>| {
            said.filter(|said| !said.is_empty() || own.is_none()).or(own).map(<[u8]>::to_vec)
        };
        let (own_issuer, own_serial) =
            own.as_ref().map_or((None, None), |(issuer, serial)| (Some(&**issuer), Some(&**serial)));
        let issuer = or_own(certificate.issuer(), own_issuer);
        let serial = or_own(certificate.serial(), own_serial);
        let (Some(issuer), Some(serial)) = (issuer, serial) else { continue };
        let (issuer, serial) = (&*issuer, &*serial);
        assert!(store.by_issuer_and_serial(issuer, serial).contains(&number));
        if !certificate.is_distrusted() || issuer.is_empty() || serial.is_empty() {
            continue;
        }
        assert!(store.has_distrust());
        let told = store.statements_by_issuer_and_serial(issuer, serial);
        assert!(!told.is_empty());
        for number in told {
            let statement = store.statement(number).expect("it was found");
            for purpose in Purpose::ALL {
                assert!(!matches!(statement.verdict(purpose), Verdict::Anchor | Verdict::Trusted), "{purpose:?}");
            }
        }
    }
    for statement in (0..store.statements_end()).filter_map(|number| store.statement(number)) {
        let _ = KeyUse::ALL.map(|key_use| statement.key_use(key_use));
        let _ = (statement.md5(), statement.sha256(), statement.label(), statement.id(), statement.subject());
    }
    for extension in (0..store.stapled_len()).filter_map(|number| store.stapled(number)) {
        let _ = (extension.oid(), extension.id(), extension.label(), extension.spki());
    }
}

/// Of a certificate that this crate's other reader takes.
fn issuer_and_serial(der: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let roots = RootStore::from_pem(&seeds::pem([der])).ok()?;
    let anchor = roots.anchors().next()?;
    let serial = [&[2, anchor.serial().len() as u8], anchor.serial()].concat();
    Some((anchor.raw_issuer().as_bytes().to_vec(), serial))
}

fn seeds() -> Vec<Vec<u8>> {
    let (one, other) = (seeds::collections().remove(0).remove(0), seeds::collections().remove(1).remove(0));
    let pem = |der: &[u8]| String::from_utf8(seeds::pem([der])).expect("PEM is text");
    let octets = |bytes: &[u8]| bytes.iter().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let octal = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
    let roots = RootStore::from_pem(pem(&one).as_bytes()).expect("a certificate of the bundle");
    let anchor = roots.anchors().next().expect("there is one");
    let serial = [&[2, anchor.serial().len() as u8], anchor.serial()].concat();
    let (issuer, number) = (octets(anchor.raw_issuer().as_bytes()), octets(&serial));
    let head = "[p11-kit-object-v1]\n";
    let said = format!(
        "{head}x-distrusted: true\nlabel: \"A%20name\"\nnss-server-distrust-after: \"240731000000Z\"\n{}",
        pem(&one)
    );
    let stub = format!(
        "{head}class: certificate\ncertificate-type: x-509\nissuer: \"{issuer}\"\nserial-number: \"{number}\"\n"
    );
    let stated = format!(
        "{head}class: nss-trust\nissuer: \"{issuer}\"\nserial-number: \"{number}\"\n\
         nss-trust-server-auth: nss-not-trusted\n"
    );
    let key = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n";
    let stapled = format!("{head}class: x-certificate-extension\nvalue: \"0%0a%06%03%55%1d%25%04%03%30%01%00\"\n{key}");
    let trusted = pem(&one).replace("BEGIN C", "BEGIN TRUSTED C").replace("END C", "END TRUSTED C");
    let certdata = format!(
        "\nBEGINDATA\nCKA_CLASS CK_OBJECT_CLASS CKO_CERTIFICATE\nCKA_LABEL UTF8 \"x\"\n\
         CKA_VALUE MULTILINE_OCTAL\n{}\nEND\n\
         CKA_CLASS CK_OBJECT_CLASS CKO_NSS_TRUST\nCKA_ISSUER MULTILINE_OCTAL\n{}\nEND\n\
         CKA_SERIAL_NUMBER MULTILINE_OCTAL\n{}\nEND\n\
         CKA_TRUST_SERVER_AUTH CK_TRUST CKT_NSS_TRUSTED_DELEGATOR\n",
        octal(&one),
        octal(anchor.raw_issuer().as_bytes()),
        octal(&serial),
    );
    let files = |list: &[(u8, &str)]| -> Vec<u8> {
        let each = list.iter().flat_map(|(directory, text)| {
            [&[*directory][..], &(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()
        });
        each.collect()
    };
    let single = |text: &[u8]| [&[ONE_FILE], text].concat();
    vec![
        single(pem(&other).as_bytes()),
        single(&one),
        single(certdata.as_bytes()),
        single(said.as_bytes()),
        files(&[(1, &pem(&one)), (2, &stub)]),
        files(&[(0, &said), (1, &pem(&one)), (0, &stated)]),
        files(&[(1, &trusted), (1, &stapled), (2, &pem(&one))]),
        files(&[(1, &pem(&one)), (1, &pem(&other)), (0, &stapled), (0, &stub)]),
    ]
}
