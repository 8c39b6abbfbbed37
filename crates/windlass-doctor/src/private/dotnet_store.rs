//! .NET's X.509 stores: one file for each certificate, below each home.

use std::collections::BTreeMap;

use windlass::Timestamp;
use windlass_machine::anchors::name::hex;
use windlass_machine::places::certificate::Certificate;
use windlass_machine::places::read;
use windlass_machine::places::superfluous::{Superfluous, judge};
use windlass_machine::places::{Place, PlaceKind};

use super::budget::{Budget, Budgets};
use crate::check::{Check, Finding, Outcome, Severity, Unseen};
use crate::machine::{Machine, Target};

pub const CHECK: Check = Check {
    id: "dotnet-store",
    title: "a .NET store holds expired, repeated or test certificates",
    severity: Severity::Warning,
    explanation: "\
        On Linux, .NET keeps the certificates of a user's stores (My, Root, CA and others) as PKCS#12 files in \
        ~/.dotnet/corefx/cryptography/x509stores. When a program builds its first chain, .NET opens, decrypts and \
        parses each file of My, Root and CA. It reads a directory again when the directory has changed. Test suites \
        and `dotnet dev-certs` leave certificates there: thousands have been seen.\n\n\
        A certificate is superfluous if it has expired, or if the same one is there under another name. It is probably \
        superfluous if it looks like a test certificate and there is a newer one of the same subject; both may be in \
        use, so `windlass prune` removes it only with --tests. It looks like a test certificate if `dotnet dev-certs` \
        made it (extension 1.3.6.1.4.1.311.84.1.1), if it is for localhost, another name that is reserved for tests \
        (RFC 6761, RFC 2606) or a loopback address, if its name has a word such as test or dev, or if it is \
        self-signed and not a CA. In Root, every test certificate is reported, even if it is valid and the \
        only one of its subject: whoever has its key can impersonate any server.\n\n\
        Files with a password of their own can't be read, and are listed separately.\n\n\
        The cost is that of decoding the store's certificates and adding them to a fresh store with this machine's \
        libcrypto. .NET also decrypts them, which is not measured.",
    run,
};

/// In bytes. A file holds one certificate, and possibly its key.
const MAX_PFX: u64 = 1 << 20;
/// The most certificates listed.
const LISTED: usize = 20;

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let mut budgets = Budgets::of(machine);
    for place in machine.places().iter().filter(|place| place.kind == PlaceKind::DotnetStore) {
        if let Some(store) = Store::read(machine, place, budgets.for_path(&place.path), outcome) {
            outcome.findings.extend(store.finding(machine, place));
        }
    }
}

#[derive(Default)]
struct Store {
    /// Certificates, and the names of their files.
    certificates: Vec<(Certificate, String)>,
    ders: Vec<Vec<u8>>,
    files: usize,
    /// The time of the last change of the oldest and of the newest file.
    changed: Option<(Timestamp, Timestamp)>,
    /// Whether libcrypto may parse all files.
    is_ours: bool,
}

impl Store {
    fn read(machine: &Machine<'_>, place: &Place, budget: &mut Budget, outcome: &mut Outcome) -> Option<Store> {
        if !matches!(machine.look(&place.path), Ok(Target::Directory)) {
            return None;
        }
        outcome.seen(budget.store(&place.path))?;
        let (entries, more) = outcome.seen(machine.entries(&place.path))?;
        more.into_iter().for_each(|unseen| outcome.not_seen(unseen));
        let mut store = Store { is_ours: true, ..Store::default() };
        let mut locked = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.path.extension().is_some_and(|extension| extension == "pfx")) {
            if budget.is_spent() {
                outcome.not_seen(Unseen::new(&place.path, "it is too large: only a part of it was examined"));
                break;
            }
            let Some(content) = outcome.seen(budget.read(machine, &entry.path, MAX_PFX)) else { continue };
            store.files += 1;
            store.is_ours &= content.is_ours();
            if let Some(time) = content.changed() {
                let (oldest, newest) = store.changed.unwrap_or((time, time));
                store.changed = Some((oldest.min(time), newest.max(time)));
            }
            match read::read(place.kind, &content.bytes, &budget.work) {
                Ok(entries) => {
                    for read in entries {
                        let Some(certificate) = read.certificate() else {
                            *locked.entry(String::from("it is not a certificate on this machine")).or_insert(0) += 1;
                            continue;
                        };
                        store.certificates.push((certificate, entry.name.to_string_lossy().into_owned()));
                        store.ders.push(read.der);
                    }
                }
                Err(why) => *locked.entry(why.to_string()).or_insert(0) += 1,
            }
        }
        for (why, count) in locked {
            outcome.not_seen(Unseen::new(
                &place.path,
                format!("{count} of its files or certificates can't be read: {why}"),
            ));
        }
        Some(store)
    }

    /// When the newest certificate of each subject begins, among those that have not expired. Test suites leave many of
    /// one name. They may be in use, so `windlass prune` takes them only with `--tests`.
    fn newest(&self, now: Timestamp) -> BTreeMap<&[u8], Timestamp> {
        let mut newest = BTreeMap::new();
        for (certificate, _) in self.certificates.iter().filter(|(certificate, _)| !certificate.is_expired(now)) {
            let time = newest.entry(&*certificate.subject).or_insert(certificate.not_before);
            *time = certificate.not_before.max(*time);
        }
        newest
    }

    fn finding(&self, machine: &Machine<'_>, place: &Place) -> Option<Finding> {
        let is_root = place.path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("root"));
        let all: Vec<_> = self.certificates.iter().map(|(certificate, _)| Some(certificate.clone())).collect();
        let judged = judge(&all, machine.now, is_root);
        let newest = self.newest(machine.now);
        let mut told = Vec::new();
        let (mut expired, mut repeated, mut tests) = (0, 0, 0);
        for ((certificate, file), judgement) in self.certificates.iter().zip(&judged) {
            let test = certificate.test_like();
            tests += usize::from(test.is_some());
            let is_older = newest.get(&*certificate.subject).is_some_and(|newest| *newest > certificate.not_before);
            let why = match (judgement, test) {
                (Some(Superfluous::Test(test)), _) => format!("trusted as a root, though {}", test.reason()),
                (Some(superfluous), _) => {
                    expired += usize::from(*superfluous == Superfluous::Expired);
                    repeated += usize::from(matches!(superfluous, Superfluous::Duplicate(_)));
                    superfluous.reason(certificate)
                }
                (None, Some(test)) if is_older => {
                    format!("{}, and a newer one of the same name is there", test.reason())
                }
                _ => continue,
            };
            told.push(format!(
                "{file}: {} ({}), {why}",
                certificate.name,
                hex(certificate.sha256.get(..6).unwrap_or_default())
            ));
        }
        if told.is_empty() {
            return None;
        }
        let days = |time: Timestamp| (machine.now.seconds() - time.seconds()).max(0) / 86_400;
        let count = self.certificates.len();
        let mut facts = vec![format!(
            "{count} certificates in {} files: {expired} expired, {repeated} repeated, {tests} like those of tests",
            self.files
        )];
        facts.extend(self.changed.map(|(oldest, newest)| {
            format!("the oldest file is {} days old, the newest {}", days(oldest), days(newest))
        }));
        let about = told.clone();
        let (found, more) = (told.len(), told.len().saturating_sub(LISTED));
        facts.extend(told.into_iter().take(LISTED));
        if more > 0 {
            facts.push(format!("and {more} more"));
        }
        let ders: Vec<_> = self.ders.iter().map(Vec::as_slice).collect();
        let cost = if self.is_ours { machine.measure.load_certificates(&ders) } else { None };
        let what = format!("holds {found} certificates that are probably superfluous ({})", place.why);
        Some(
            Finding::new(Severity::Warning, &place.path, what)
                .about(about)
                .facts(facts)
                .reason(
                    "each .NET process parses the store when it builds its first chain, and whoever has the key \
                         of a test certificate in Root can impersonate any server",
                )
                .remedy(format!(
                    "`{}` lists superfluous certificates, asks, removes them, and can undo it; --tests includes \
                     valid test certificates; in test suites, windlass run --add-ca trusts a certificate without a \
                     store",
                    machine.prune(&place.path)
                ))
                .cost(cost),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::testing::Image;

    const STORES: &str = "home/a/.dotnet/corefx/cryptography/x509stores";

    fn image() -> Image {
        let image = Image::healthy();
        image.write("etc/passwd", "a:x:1000:1000::/home/a:/bin/sh\n");
        image
    }

    fn openssl(arguments: &[&str]) {
        let output = Command::new("openssl").args(arguments).output().expect("openssl");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn put(image: &Image, store: &str, file: &str, pem: &Path, password: &str) {
        image.write(&format!("{STORES}/{store}/{file}"), "");
        let path = image.path(&format!("{STORES}/{store}/{file}"));
        let (pem, path, password) = (pem.to_str().unwrap(), path.to_str().unwrap(), format!("pass:{password}"));
        openssl(&[
            "pkcs12",
            "-export",
            "-nokeys",
            "-certpbe",
            "PBE-SHA1-3DES",
            "-passout",
            &password,
            "-in",
            pem,
            "-out",
            path,
        ]);
    }

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
    }

    /// A certificate with these extensions.
    fn certificate(image: &Image, file: &str, subject: &str, extension: &str) -> std::path::PathBuf {
        let path = image.path(file);
        let text = path.to_str().unwrap();
        let key = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -days 30";
        let key: Vec<_> = key.split(' ').collect();
        openssl(&[&key[..], &["-subj", subject, "-addext", extension, "-out", text]].concat());
        path
    }

    #[test]
    fn a_machine_without_stores_is_silent() {
        assert!(image().findings(&CHECK).is_empty());
    }

    #[test]
    fn a_development_certificate_is_no_fault_where_it_belongs() {
        let image = image();
        let own = certificate(&image, "dev.pem", "/CN=localhost", "1.3.6.1.4.1.311.84.1.1=ASN1:UTF8String:1");
        put(&image, "my", "A.pfx", &own, "");
        put(&image, "root", "B.pfx", &fixture("rsa.pem"), "");
        assert!(image.findings(&CHECK).is_empty());
        put(&image, "root", "A.pfx", &own, "");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.unwrap(), Path::new("/").join(STORES).join("root"));
        assert!(
            finding.facts.shown[2].ends_with("trusted as a root, though a development certificate of ASP.NET Core"),
            "{:?}",
            finding.facts
        );
    }

    #[test]
    fn what_nobody_needs_is_counted() {
        let image = image();
        put(&image, "ca", "A.pfx", &fixture("expired.pem"), "");
        put(&image, "ca", "B.pfx", &fixture("rsa.pem"), "");
        put(&image, "ca", "C.pfx", &fixture("rsa.pem"), "");
        image.write(&format!("{STORES}/ca/README"), "not a certificate");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.what, "holds 2 certificates that are probably superfluous (.NET store of /home/a)");
        assert_eq!(finding.facts.shown[0], "3 certificates in 3 files: 1 expired, 1 repeated, 0 like those of tests");
        assert!(finding.facts.shown[3].starts_with("C.pfx: ") && finding.facts.shown.len() == 4, "{:?}", finding.facts);
    }

    #[test]
    fn each_rule_for_tests() {
        let image = image();
        let cases = [
            ("/CN=srv.localhost", "basicConstraints=critical,CA:TRUE", "for a name that is reserved for tests"),
            ("/CN=My Test CA", "keyUsage=keyCertSign", "its name says that it is for tests"),
            ("/CN=Service", "subjectAltName=IP:127.0.0.1", "for a name that is reserved for tests"),
            ("/CN=Service", "subjectAltName=DNS:a.example.com", "for a name that is reserved for tests"),
            ("/CN=server.corp", "basicConstraints=CA:FALSE", "a server's certificate that certifies itself"),
        ];
        for (number, (subject, extension, reason)) in cases.into_iter().enumerate() {
            let file = certificate(&image, "x.pem", subject, extension);
            put(&image, "root", "X.pfx", &file, "");
            let finding = image.finding(&CHECK);
            assert!(finding.facts.shown[2].ends_with(reason), "{number}: {:?}", finding.facts);
        }
        let file = certificate(&image, "x.pem", "/CN=Contest Authority", "keyUsage=keyCertSign");
        put(&image, "root", "X.pfx", &file, "");
        assert!(image.findings(&CHECK).is_empty(), "test is a part of a word");
    }

    #[test]
    fn what_is_locked_or_no_pfx_is_told() {
        let image = image();
        put(&image, "my", "A.pfx", &fixture("expired.pem"), "secret");
        image.write(&format!("{STORES}/my/B.pfx"), "no PKCS#12");
        let outcome = image.outcome(&CHECK);
        assert_eq!((outcome.findings.len(), outcome.unseen.count()), (0, 2), "{:?}", outcome.unseen);
        assert!(
            outcome
                .unseen
                .shown()
                .iter()
                .any(|unseen| unseen.why.contains("1 of its files or certificates can't be read: encrypted"))
        );
    }
}
