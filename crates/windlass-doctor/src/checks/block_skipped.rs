//! Blocks of certificates that OpenSSL does not see, in files that it loads.

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "block-skipped",
    title: "a bundle has certificates that OpenSSL passes over without an error",
    severity: Severity::Warning,
    explanation: "OpenSSL looks for lines that are a BEGIN or END marker and nothing else, but for blanks at their end. Where a marker shares \
        its line with base64, or has blanks before it, there is no block for OpenSSL: it loads the rest of the file and reports \
        success. GnuTLS searches for the markers anywhere, and reads such a block. So what is trusted depends on the program.\n\nIt comes \
        about when a certificate goes through an environment variable, a YAML file or a secret store that removes the line ends, or \
        indents the lines. The length of the base64 lines does not matter: a block with all of its base64 in one line of any length \
        is read by OpenSSL 1.1.1w, 3.0.19, 3.5.5 and 4.0.3, as long as BEGIN and END stand alone.\n\nA bad block for which OpenSSL \
        refuses the whole file is another matter, see bundle-dropped.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources();
    sources.tell_unseen(outcome);
    for bundle in &sources.bundles {
        let skipped = &bundle.contents.skipped;
        let what = match skipped.len() {
            0 => continue,
            1 => String::from("OpenSSL passes over 1 certificate of this file without an error"),
            count => format!("OpenSSL passes over {count} certificates of this file without an error"),
        };
        let facts: Vec<_> = skipped.iter().map(|skipped| format!("line {}: {}", skipped.line, skipped.why)).collect();
        outcome.found(
            Finding::new(Severity::Warning, &bundle.real, what)
                .at_line(skipped.first().map(|first| first.line))
                .about(facts.iter().cloned())
                .facts(facts)
                .reason("OpenSSL's programs do not trust these certificates, while GnuTLS' programs do")
                .remedy(
                    "put BEGIN and END on lines of their own, without blanks before them, where the certificate comes from; a bundle \
                     that a tool makes is made anew by it (update-ca-certificates, update-ca-trust)",
                ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HEALTHY, Image, assert_silent, fixture};

    const BUNDLE: &str = "etc/ssl/certs/ca-certificates.crt";

    /// The text between the markers.
    fn base64(name: &str) -> String {
        fixture(name).lines().filter(|line| !line.starts_with('-')).collect()
    }

    #[test]
    fn a_healthy_machine_is_silent() {
        assert_silent(&CHECK);
    }

    /// OpenSSL itself is the judge: it loads the file, and one certificate less than there are.
    #[test]
    fn markers_that_do_not_stand_alone() {
        let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
        let body = base64("p384.pem");
        let cases = [
            (format!("{begin}{body}{end}\n"), "BEGIN does not stand alone"),
            (format!("{begin}{body}\n{end}\n"), "BEGIN does not stand alone"),
            (format!("{begin}\n{body}{end}\n"), "END does not stand alone"),
            (format!("  {begin}\n  {body}\n  {end}\n"), "blanks before BEGIN"),
        ];
        for (block, why) in cases {
            let image = Image::healthy();
            image.write(BUNDLE, &(fixture("rsa.pem") + &block + &fixture("ed25519.pem")));
            let finding = image.finding(&CHECK);
            assert_eq!(finding.what, "OpenSSL passes over 1 certificate of this file without an error", "{block}");
            assert!(finding.facts.shown[0].contains(why), "{finding:?}");
            assert_eq!(in_openssl(&image.path(BUNDLE)), 2, "{block}");
        }
    }

    #[test]
    fn long_lines_of_base64_are_read() {
        let body = base64("p384.pem");
        for width in [64, 76, 254, 255, 256, 10_000] {
            let lines: Vec<_> = body.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let block = format!("-----BEGIN CERTIFICATE----- \n{}\n-----END CERTIFICATE-----\t\r\n", lines.join("\n"));
            let image = Image::healthy();
            image.write(BUNDLE, &(fixture(HEALTHY[0]) + &block));
            assert!(image.findings(&CHECK).is_empty(), "{width}");
            assert_eq!(in_openssl(&image.path(BUNDLE)), 2, "{width}");
        }
    }

    /// How many certificates `openssl` loads of a file.
    fn in_openssl(path: &std::path::Path) -> usize {
        let mut command = std::process::Command::new("openssl");
        let output = command.args(["crl2pkcs7", "-nocrl", "-certfile"]).arg(path).output().expect("openssl");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let pkcs7 = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(pkcs7.path(), output.stdout).unwrap();
        let mut command = std::process::Command::new("openssl");
        let output = command.args(["pkcs7", "-print_certs", "-noout", "-in"]).arg(pkcs7.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().matches("subject=").count()
    }
}
