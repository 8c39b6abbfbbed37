//! A bundle from which OpenSSL loads nothing.

use windlass_machine::places::sources::without_date;

use crate::bundle::Bundle;
use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;
use crate::measure::path_of;

pub const CHECK: Check = Check {
    id: "bundle-dropped",
    title: "a bundle that OpenSSL refuses completely, because of one bad block",
    severity: Severity::Error,
    explanation: "\
        OpenSSL loads all of a bundle or nothing: one block that is cut off, not base64 or no certificate, and the \
        whole file is refused (X509_load_cert_crl_file). With the default paths there is no error message: \
        X509_STORE_set_default_paths ignores the result, and verification fails later with \"unable to get local \
        issuer certificate\", or continues with the hashed directory. A file without any certificate is refused, \
        too.\n\n\
        To find out, this machine's libcrypto loads the file, if it has at most 16 MiB. doctor itself then looks for \
        the bad block.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for bundle in &sources.bundles {
        let Some(refused) = refused(machine, bundle) else { continue };
        let contents = &bundle.contents;
        let good = contents.certificates.len();
        let what = match (contents.bad.first(), good) {
            (Some(bad), _) => format!("OpenSSL refuses this whole file: {}", bad.why),
            (None, 0) => String::from("OpenSSL refuses this file: it holds no certificate"),
            (None, _) => format!("OpenSSL refuses this whole file: {refused}"),
        };
        let lost = match good {
            0 => None,
            1 => Some(String::from("1 valid certificate is lost with it")),
            _ => Some(format!("{good} valid certificates are lost with it")),
        };
        let mut facts: Vec<_> = lost.into_iter().collect();
        facts.extend(contents.bad.iter().map(|bad| format!("line {}: {}", bad.line, bad.why)));
        facts.push(refused);
        facts.push(format!("it is the {}", bundle.reason));
        let (first, then) = match (contents.bad.is_empty(), good) {
            (true, 0) => ("put PEM certificates into it", ""),
            _ => (
                "correct or remove the block",
                ", after removing the bad file from the directory that its certificates come from",
            ),
        };
        let remedy = format!(
            "{first}; if a tool generates the bundle, run it again (update-ca-certificates, update-ca-trust){then}"
        );
        outcome.found(
            Finding::new(Severity::Error, &bundle.real, what)
                .at_line(contents.bad.first().map(|bad| bad.line))
                .about(contents.bad.iter().map(|bad| bad.why.clone()))
                .facts(facts)
                .reason("programs that use this file trust none of its certificates: their verifications fail")
                .remedy(remedy),
        );
    }
}

/// Larger files are not passed to libcrypto: 16 MiB are 10,000 certificates.
const MAX_ASKED: u64 = 16 << 20;

/// The reason for the refusal, as a detail.
fn refused(machine: &Machine<'_>, bundle: &Bundle) -> Option<String> {
    // libcrypto must not parse strangers' bytes, nor files that would take it many seconds; in these cases, and without
    // a libcrypto, the reader here decides.
    let is_small = bundle.file.metadata().is_ok_and(|metadata| metadata.len() <= MAX_ASKED);
    let Some(libcrypto) = machine.libcryptos.first().filter(|_| bundle.is_ours && is_small) else {
        let is_bad = !bundle.contents.bad.is_empty() || bundle.contents.certificates.is_empty();
        return is_bad.then(|| String::from("as Windlass reads it; no libcrypto was used"));
    };
    let loaded = libcrypto.load_file(&path_of(&bundle.file));
    loaded.err().map(|error| format!("{} says: {error}", without_date(libcrypto)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, fixture};

    #[test]
    fn one_bad_block_spoils_all() {
        let image = Image::healthy();
        let good = fixture("rsa.pem");
        let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        image.write("etc/ssl/certs/ca-certificates.crt", &format!("{good}{bad}"));
        let finding = image.finding(&CHECK);
        assert_eq!(finding.line, Some(good.lines().count() as u64 + 1));
        assert_eq!(finding.what, "OpenSSL refuses this whole file: the block is base64, but not an X.509 certificate");
        assert_eq!(finding.facts.shown[0], "1 valid certificate is lost with it");
        assert!(finding.facts.shown.iter().any(|fact| fact.starts_with("OpenSSL 3")), "{:?}", finding.facts);
        assert_eq!(finding.facts.shown.last().unwrap(), "it is the default file of GnuTLS on Debian");
    }

    #[test]
    fn an_empty_file_and_one_that_is_cut_off() {
        let image = Image::healthy();
        image.write("etc/ssl/certs/ca-certificates.crt", "");
        let finding = image.finding(&CHECK);
        assert!(finding.what.ends_with("it holds no certificate") && !finding.remedy.contains("block"), "{finding:?}");
        assert!(finding.facts.shown[0].starts_with("OpenSSL 3"), "none is lost: {:?}", finding.facts);
        let rsa = fixture("rsa.pem");
        image.write("etc/ssl/certs/ca-certificates.crt", &rsa[..rsa.len() / 2]);
        assert!(image.finding(&CHECK).what.ends_with("the block has no END line"));
        image.write("etc/ssl/certs/ca-certificates.crt", &(rsa.trim_end().to_owned() + &rsa));
        let joined = format!("the block ends and the next begins on one line ({}): ", rsa.lines().count());
        assert!(image.finding(&CHECK).what.contains(&joined), "{}", image.finding(&CHECK).what);
    }

    /// Anything that OpenSSL skips is not a fault.
    #[test]
    fn comments_keys_and_line_ends_are_well() {
        let image = Image::healthy();
        let text = format!("# a comment\r\n{}", fixture("rsa.pem").replace('\n', "\r\n"));
        image.write("etc/ssl/certs/ca-certificates.crt", &text);
        assert!(image.findings(&CHECK).is_empty());
    }
}
