//! Blocks of certificates that OpenSSL does not see, in files that it loads.

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "block-skipped",
    title: "a bundle has certificates that OpenSSL skips without an error",
    severity: Severity::Warning,
    explanation: "\
        OpenSSL only recognizes a BEGIN or END marker if nothing else is on its line, except for blanks at the end. \
        If a marker shares its line with base64, or has blanks before it, OpenSSL skips the block, loads the rest of \
        the file and reports success. GnuTLS finds markers anywhere in a line, and reads the block. Which \
        certificates are trusted then depends on the program.\n\n\
        This happens when a certificate goes through an environment variable, a YAML file or a secret store that \
        removes the line ends, or indents the lines. The length of the base64 lines does not matter: a block with \
        all of its base64 in one line of any length is read by OpenSSL 1.1.1w, 3.0.19, 3.5.5 and 4.0.3, as long as \
        BEGIN and END stand alone.\n\n\
        For bad blocks that make OpenSSL refuse the whole file, see bundle-dropped.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for bundle in &sources.bundles {
        let skipped = &bundle.contents.skipped;
        let what = match skipped.len() {
            0 => continue,
            1 => String::from("OpenSSL skips 1 certificate of this file without an error"),
            count => format!("OpenSSL skips {count} certificates of this file without an error"),
        };
        let facts: Vec<_> = skipped.iter().map(|skipped| format!("line {}: {}", skipped.line, skipped.why)).collect();
        outcome.found(
            Finding::new(Severity::Warning, &bundle.real, what)
                .at_line(skipped.first().map(|first| first.line))
                .about(facts.iter().cloned())
                .facts(facts)
                .reason("programs with OpenSSL do not trust these certificates, while programs with GnuTLS do")
                .remedy(
                    "correct the file that the certificate comes from: put BEGIN and END on lines of their own, \
                     without blanks before them; if a tool generates the bundle, run it again \
                     (update-ca-certificates, update-ca-trust)",
                ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HEALTHY, Image, fixture};

    const BUNDLE: &str = "etc/ssl/certs/ca-certificates.crt";

    /// The text between the markers.
    fn base64(name: &str) -> String {
        fixture(name).lines().filter(|line| !line.starts_with('-')).collect()
    }

    /// OpenSSL itself decides: it loads the file, with one certificate fewer than the file holds.
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
            assert_eq!(finding.what, "OpenSSL skips 1 certificate of this file without an error", "{block}");
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

    /// The number of certificates that `openssl` loads from a file.
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
