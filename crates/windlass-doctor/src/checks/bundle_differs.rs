//! A bundle and a hashed directory that belong together, but differ.

use std::collections::BTreeSet;

use windlass_machine::anchors::name::hex;

use crate::bundle::Bundle;
use crate::check::{Check, Finding, Outcome, Severity};
use crate::directory::Directory;
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "bundle-differs",
    title: "a bundle and the hashed directory beside it hold different certificates",
    severity: Severity::Warning,
    explanation: "\
        A distribution keeps the same certificates in two forms: a bundle for programs that load all of them, and a \
        hashed directory for OpenSSL. If the two disagree, the trusted certificates depend on the program: on \
        Debian, programs with GnuTLS and Python's requests use the bundle, curl both, and OpenSSL's default paths \
        the directory and, where cert.pem exists, the bundle too.\n\n\
        This happens when a certificate is copied into the directory, or appended to the bundle, instead of being \
        given to update-ca-certificates or update-ca-trust. A TRUSTED CERTIFICATE has OpenSSL's trust settings \
        behind it: one that rejects servers (or any use), or has a list of trusted uses without them, is refused, \
        and the same certificate in the other form is trusted. A directory without any hash link is ignored: no \
        program uses it as a hashed directory. Certificates that are not a CA and are only in the directory are \
        ignored, too (see not-ca): Debian keeps server certificates there, for example ssl-cert-snakeoil.pem. A \
        bundle with a bad block or without certificates must be regenerated first, see bundle-dropped.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for directory in sources.directories.iter().filter(|directory| directory.is_hashed()) {
        let whole = sources.bundles.iter().filter(|bundle| bundle.contents.is_whole());
        for bundle in whole.filter(|bundle| belong_together(machine, bundle, directory)) {
            outcome.findings.extend(compare(bundle, directory));
        }
    }
}

/// One lies in the other, or they are the two default paths of one OpenSSL.
fn belong_together(machine: &Machine<'_>, bundle: &Bundle, directory: &Directory) -> bool {
    let is_pair = |pair: &crate::sources::Pair| {
        machine.real(&pair.file) == bundle.real && machine.real(&pair.directory) == directory.real
    };
    bundle.real.parent() == Some(&directory.real) || machine.sources().pairs.iter().any(is_pair)
}

fn compare(bundle: &Bundle, directory: &Directory) -> Option<Finding> {
    let (bundle_trusts, bundle_refuses) = bundle.contents.standing();
    let (directory_trusts, directory_refuses) = directory.standing();
    let mut told = BTreeSet::new();
    let (mut facts, mut refused) = (Vec::new(), 0);
    let unlinked = directory.unlinked();
    let (mut only_bundle, mut only_unlinked) = (0, 0);
    for placed in bundle.contents.trusted() {
        let (certificate, line) = (&placed.certificate, placed.line);
        if directory_trusts.contains(&certificate.fingerprint) || !told.insert(certificate.fingerprint) {
            continue;
        }
        let is_refused = directory_refuses.contains(&certificate.fingerprint);
        *if is_refused { &mut refused } else { &mut only_bundle } += 1;
        only_unlinked += usize::from(!is_refused && unlinked.contains(&certificate.fingerprint));
        let where_ = if is_refused { "trusted in the bundle, refused in the directory" } else { "only in the bundle" };
        facts.push(format!("{where_}, line {line}: {}", certificate.label()));
    }
    let mut only_directory = 0;
    for (item, placed) in directory.found() {
        let certificate = &placed.certificate;
        if bundle_trusts.contains(&certificate.fingerprint) || !told.insert(certificate.fingerprint) {
            continue;
        }
        let is_refused = bundle_refuses.contains(&certificate.fingerprint);
        // For example a server's own certificate: not-ca reports it.
        if !is_refused && certificate.says.as_ref().is_some_and(|says| !says.is_ca) {
            continue;
        }
        *if is_refused { &mut refused } else { &mut only_directory } += 1;
        let where_ =
            if is_refused { "trusted in the directory, refused in the bundle" } else { "only in the directory" };
        facts.push(format!("{where_}, {}: {}", item.name(), certificate.label()));
    }
    let path = bundle.real.display();
    let mut what = match (only_bundle, only_directory) {
        (0, 0) => String::new(),
        (0, more) => format!("the directory has {more} that {path} lacks"),
        (more, 0) => format!("{path} has {more} that the directory lacks"),
        (more, others) => {
            format!("{path} has {more} that the directory lacks, and the directory has {others} that it lacks")
        }
    };
    match refused {
        0 if what.is_empty() => return None,
        0 => {}
        _ => {
            let and = if what.is_empty() { "" } else { ", and " };
            what.push_str(&format!(
                "{and}{refused} of {path} and the directory are trusted in one and refused in the other"
            ));
        }
    }
    // Nothing is found there by hash yet, or the directory lacks only links to files that lie in it.
    let lacks_links = directory_trusts.is_empty() && directory_refuses.is_empty()
        || refused + only_directory == 0 && only_unlinked == only_bundle;
    let remedy = if bundle.contents.has_mark {
        facts.insert(
            0,
            String::from("a byte order mark precedes the bundle's first block, so OpenSSL does not see that block"),
        );
        String::from(
            "remove the byte order mark (sed -i '1s/^\\xEF\\xBB\\xBF//' FILE), or regenerate the bundle \
             (update-ca-certificates, update-ca-trust)",
        )
    } else if lacks_links {
        let path = directory.real.display();
        format!(
            "create the hash links: openssl rehash {path}; if files are missing too: update-ca-certificates (Fedora: \
             update-ca-trust)"
        )
    } else {
        String::from(
            "if all programs should trust the certificate: put it into /usr/local/share/ca-certificates as a .crt \
             file, and run update-ca-certificates (Fedora: /etc/pki/ca-trust/source/anchors, update-ca-trust); if \
             none should: remove it; if it is refused on purpose: remove the plain copy",
        )
    };
    Some(
        Finding::new(Severity::Warning, &directory.real, format!("bundle and directory disagree: {what}"))
            .about(told.iter().map(|fingerprint| hex(fingerprint)))
            .facts(facts)
            .reason("programs trust different certificates, depending on which of the two they use")
            .remedy(remedy),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture, trusted};

    #[test]
    fn each_has_one_that_the_other_has_not() {
        let image = Image::healthy();
        image.bundle(&["rsa.pem", "ed25519.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.facts.shown.len(), 2, "{:?}", finding.facts);
        assert!(
            finding.facts.shown[0].contains("only in the bundle")
                && finding.facts.shown[0].contains("Unit Without Common Name")
        );
        assert!(
            finding.facts.shown[1].contains("only in the directory")
                && finding.facts.shown[1].contains("Würzelzertifikat")
        );
    }

    /// Every Debian with the package ssl-cert has one.
    #[test]
    fn a_servers_own_certificate_in_the_directory_is_not_meant() {
        let image = Image::healthy();
        image.add("doctor/leaf.pem");
        assert!(image.findings(&CHECK).is_empty());
    }

    /// A user who followed the advice would add its content to the system.
    #[test]
    fn a_bundle_that_has_to_be_made_anew_is_not_compared() {
        let image = Image::healthy();
        for text in ["", &fixture("rsa.pem")[..100]] {
            image.write("etc/ssl/certs/ca-certificates.crt", text);
            assert!(image.findings(&CHECK).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_hides_the_first_block() {
        let image = Image::healthy();
        let bundle = std::fs::read_to_string(image.path("etc/ssl/certs/ca-certificates.crt")).unwrap();
        image.write("etc/ssl/certs/ca-certificates.crt", &format!("\u{feff}{bundle}"));
        let finding = image.finding(&CHECK);
        assert!(
            finding.facts.shown[0].starts_with("a byte order mark ") && finding.facts.shown.len() == 2,
            "{finding:?}"
        );
        assert!(finding.remedy.starts_with("remove the byte order mark (sed -i '1s/^\\xEF"), "{}", finding.remedy);
        image.write("etc/ssl/certs/ca-certificates.crt", &format!("\u{feff}# two\n{bundle}"));
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn a_bundle_elsewhere_counts_if_openssl_uses_both() {
        let image = Image::healthy();
        image.write("usr/lib/ssl/cert.pem", &crate::testing::fixture("rsa.pem"));
        let finding = image.finding(&CHECK);
        assert!(finding.what.ends_with("the directory has 1 that /usr/lib/ssl/cert.pem lacks"), "{}", finding.what);
    }

    /// `openssl verify` says of the leaf: OK with -CAfile, "certificate rejected" with -CApath.
    #[test]
    fn what_one_of_them_refuses() {
        let image = Image::healthy();
        for (settings, is_refused) in [
            (&["-addreject", "serverAuth"][..], true),
            (&["-addreject", "anyExtendedKeyUsage"], true),
            (&["-addtrust", "emailProtection"], true),
            (&["-addreject", "emailProtection"], false),
            (&["-addtrust", "serverAuth"], false),
            (&["-addtrust", "anyExtendedKeyUsage"], false),
            (&["-setalias", "a"], false),
        ] {
            image.write("usr/share/ca-certificates/rsa.pem", &trusted("rsa.pem", settings));
            assert_eq!(image.findings(&CHECK).len(), usize::from(is_refused), "{settings:?}");
        }
        image.write("usr/share/ca-certificates/rsa.pem", &trusted("rsa.pem", &["-addreject", "serverAuth"]));
        let finding = image.finding(&CHECK);
        assert!(
            finding.what.contains("1 of /etc/ssl/certs/ca-certificates.crt and the directory are"),
            "{}",
            finding.what
        );
        let fact = "trusted in the bundle, refused in the directory, line 1: Rsa Root";
        assert!(finding.facts.shown[0].starts_with(fact), "{:?}", finding.facts);
        let both = trusted("rsa.pem", &["-addreject", "serverAuth"]) + &fixture("p384.pem");
        image.write("etc/ssl/certs/ca-certificates.crt", &both);
        assert!(image.findings(&CHECK).is_empty(), "refused in both");
        image.write("usr/share/ca-certificates/rsa.pem", &fixture("rsa.pem"));
        assert!(image.finding(&CHECK).facts.shown[0].starts_with("trusted in the directory, refused in the bundle, "));
    }

    #[test]
    fn what_openssl_can_not_find_is_not_in_the_directory() {
        let image = Image::healthy();
        image.remove(&format!("etc/ssl/certs/{}.0", crate::testing::hash("rsa.pem")));
        assert!(image.finding(&CHECK).facts.shown[0].contains("only in the bundle, line 1: Rsa Root"));
    }

    /// The files are there, or will be: the directory needs no copy of them.
    #[test]
    fn what_only_lacks_its_hash_link_gets_one() {
        let image = Image::healthy();
        let rehash = "create the hash links: openssl rehash /etc/ssl/certs; ";
        let link = |name: &str| format!("etc/ssl/certs/{}.0", crate::testing::hash(name));
        image.remove(&link("rsa.pem"));
        assert!(image.finding(&CHECK).remedy.starts_with(rehash), "its file lies there");
        image.bundle(&["rsa.pem", "p384.pem", "ed25519.pem"]);
        assert!(!image.finding(&CHECK).remedy.contains("rehash"), "one is not there at all");
        // Without a hash link to any certificate, there is nothing to compare yet.
        image.remove(&link("p384.pem"));
        assert!(image.findings(&CHECK).is_empty(), "nobody uses it as a hashed one");
        image.write("etc/ssl/certs/01234567.r0", "");
        assert!(image.finding(&CHECK).remedy.starts_with(rehash), "{:?}", image.finding(&CHECK));
    }
}
