//! A trust token that removes all trust, or has none to give.

use std::path::{Path, PathBuf};

use windlass::{Config, LoadError, TrustCache, Unsupported};
use windlass_machine::without_number;

use crate::check::{Check, Finding, Outcome, Severity, Unseen};
use crate::machine::{Machine, Target};
use crate::token::{Origin, Token, load};

pub const CHECK: Check = Check {
    id: "token-no-anchors",
    title: "the PKCS#11 trust token gives no anchor: one of its places can't be read, or none holds any",
    severity: Severity::Error,
    explanation: "\
        The trust token, libwindlass_pkcs11.so, gives programs the anchors of one or several places. A place is a \
        bundle, or a directory as p11-kit-trust has it, with anchors and blocklist. If something in a place can't be \
        read, and it may take trust away, the token gives no anchor of any place, and `p11tool --list-all-trusted \
        pkcs11:` lists nothing. Distrusted certificates stay distrusted. p11-kit-trust skips such a file. It can be a \
        distrusted certificate that is not in DER, a TRUSTED CERTIFICATE or a .p11-kit file that can't be understood, \
        a file that is too large, or a directory that can't be examined.\n\n\
        The places are those of `paths=` in x-init-reserved of p11-kit's configuration, or else those of \
        WINDLASS_TRUST_PATHS in the environment of doctor, or else the usual ones. GnuTLS ignores `paths=`: if it is \
        set, the places that GnuTLS uses are examined as well. Places are read as the token reads them, and for each \
        the first part that can't be read is reported. A directory that only some users can read is reported even if \
        doctor can read it.\n\n\
        It is also reported if everything can be read and nothing is trusted: as soon as there is a directory such as \
        /etc/pki/trust, the token does not read the bundle any more. Places of `paths=` that only distrust are not \
        reported: that is intended.\n\n\
        It is an error if p11-kit loads the token, a warning if p11-kit loads another module with `trust-policy: yes` \
        too, and a note if the library is only installed: a program may have been configured to use it (NSS, Java, \
        p11tool --provider).",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    for token in Token::all(machine, outcome) {
        examine(machine, &token, outcome);
    }
}

fn examine(machine: &Machine<'_>, token: &Token, outcome: &mut Outcome) {
    let cache = TrustCache::new(Config::default(), None);
    let mut says = Vec::new();
    let (mut is_whole, mut has_purpose) = (true, false);
    for place in &token.places {
        let loaded = match place.is_absolute() {
            true => load(machine, place, &cache),
            false => Err(Unseen::new(place, "a relative path: in each directory the trust token reads another place")),
        };
        let Some((store, fault)) = outcome.seen(loaded) else {
            is_whole = false;
            continue;
        };
        let finding = match (store.fault(), fault) {
            (Some(error), Some(path)) => Some(unread(token, place, &path, error)),
            _ => closed_to_others(machine, token, place),
        };
        is_whole &= finding.is_none();
        outcome.findings.extend(finding);
        has_purpose |= token.origin.is_configured() && store.has_distrust();
        has_purpose |= (0..store.len()).filter_map(|number| store.certificate(number)).any(|one| one.is_trusted());
        says.push(match store.len() {
            0 => format!("{}: no certificate", place.display()),
            count => format!("{}: certificates that are not trusted: {count}", place.display()),
        });
    }
    if is_whole && !has_purpose {
        outcome.found(without_any(token, says));
    }
}

/// A finding that still lacks a remedy.
fn finding(token: &Token, path: &Path, what: String) -> Finding {
    let (severity, who) = match token {
        Token { is_used: true, has_company: false, .. } => (Severity::Error, "p11-kit loads the token by"),
        Token { is_used: true, .. } => (Severity::Warning, "p11-kit loads the token, beside another trust module, by"),
        _ => (Severity::Note, "p11-kit does not load the token, which is installed as"),
    };
    let by_paths =
        if token.origin.is_configured() { ", where `paths=` names its places (GnuTLS ignores these)" } else { "" };
    let loaded = format!("{who} {}{by_paths}", token.named_by.display());
    Finding::new(severity, path, what).facts([loaded]).reason(match severity {
        Severity::Note => "a program that is pointed at the token (NSS, Java, p11tool --provider) finds no anchor",
        _ => {
            "programs that ask p11-kit for trust (trust, p11tool, GnuTLS with pkcs11:) find no anchor in the token, \
              and refuse certificates that only the token trusts; distrusted certificates stay distrusted"
        }
    })
}

/// A path that the token can't read.
fn unread(token: &Token, place: &Path, path: &Path, error: &LoadError) -> Finding {
    const LOOK: &str = "then look: p11tool --list-all-trusted pkcs11:";
    let (why, remedy) = match error {
        LoadError::Io { action, errno, .. } => {
            let error = without_number(std::io::Error::from_raw_os_error(*errno));
            (format!("cannot {action} it: {error}"), format!("let whoever uses the token read it; {LOOK}"))
        }
        LoadError::Unsupported { what, .. } => {
            let why = match what {
                Unsupported::Distrust => String::from("it may take trust away, in a form that the token does not know"),
                other => other.to_string(),
            };
            let away = match path == place {
                true => "remove the last addition from the files that it is made from",
                false => "remove the file from the directory, or write it again",
            };
            let forms = "distrusted certificates and those of TRUSTED CERTIFICATE blocks are read in DER (PEM is DER \
                         inside), .p11-kit \
                         files as p11-kit 0.26 knows them";
            (why, format!("{away} ({forms}); {LOOK}"))
        }
        _ => (error.label().to_owned(), format!("remove it; {LOOK}")),
    };
    let others: Vec<_> =
        token.places.iter().filter(|other| *other != place).map(|it| it.display().to_string()).collect();
    let finding = finding(token, path, format!("the trust token can't read this, so it gives no anchor at all: {why}"));
    finding
        .facts((path != place).then(|| format!("it belongs to the place {}", place.display())))
        .facts((!others.is_empty()).then(|| format!("its other places give no anchor either: {}", others.join(", "))))
        .remedy(remedy)
}

/// A place that this user, or root, can read, and others can't.
fn closed_to_others(machine: &Machine<'_>, token: &Token, place: &Path) -> Option<Finding> {
    let is_others = matches!(token.origin, Origin::Usual | Origin::Configuration);
    let (closed, mode) = machine.shuts_out(place).filter(|_| is_others)?;
    // If others see none of the usual places, they read the next ones.
    let is_seen = |place: &PathBuf| {
        let is_there = !matches!(machine.look(place), Ok(Target::Nothing | Target::Dangling) | Err(_));
        is_there && machine.shuts_out(place).is_none_or(|(closed, _)| closed == machine.real(place))
    };
    if token.origin == Origin::Usual && !token.places.iter().any(is_seen) {
        return None;
    }
    let (verb, right, lost) = match machine.look(&closed) {
        // A file that can't be opened is skipped.
        Ok(Target::File(_)) => ("read this file", "r", "none of its anchors"),
        _ => ("list this directory", "x", "no anchor at all"),
    };
    let what = format!("only some users can {verb} (mode {mode:03o}): for all others the trust token gives {lost}");
    let facts = (closed != *place).then(|| format!("it leads to the place {}", place.display()));
    let remedy = format!("chmod o+{right} {}", closed.display());
    Some(finding(token, &closed, what).facts(facts).remedy(remedy))
}

/// Everything was read, and there are no anchors.
fn without_any(token: &Token, says: Vec<String>) -> Finding {
    let path = token.places.first().unwrap_or(&token.named_by);
    let passed_over =
        token.passed_over.iter().map(|path| format!("not read, as earlier places exist: {}", path.display()));
    finding(token, path, String::from("the trust token finds nothing trusted in its places, so it gives no anchor"))
        .facts(says)
        .facts(passed_over)
        .remedy(
            "put the CAs into the directory anchors of a place; if a directory is there by mistake, remove it: the \
             token reads what comes \
             after it then",
        )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::{Image, fixture};

    const SOURCE: &str = "etc/pki/ca-trust/source";
    /// A statement unknown to p11-kit too could mean anything.
    const UNKNOWN: &str = "[p11-kit-object-v1]\nclass: x-certificate-extension\nno-such-name: 1\n";

    /// The package is installed.
    fn installed() -> Image {
        let image = Image::healthy();
        image.write("usr/share/p11-kit/modules/p11-kit-trust.module", "module: p11-kit-trust.so\ntrust-policy: yes\n");
        image.write("usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-trust.so", "");
        image.write("usr/lib/x86_64-linux-gnu/pkcs11/libwindlass_pkcs11.so", "");
        image
    }

    /// The package, linked as docs/pkcs11.md says.
    fn enabled() -> Image {
        let image = installed();
        image.write(
            "usr/share/windlass/p11-kit/p11-kit-trust.module",
            include_str!("../../../../packaging/p11-kit/p11-kit-trust.module"),
        );
        std::fs::create_dir_all(image.path("etc/pkcs11/modules")).unwrap();
        image.link("etc/pkcs11/modules/p11-kit-trust.module", "/usr/share/windlass/p11-kit/p11-kit-trust.module");
        image
    }

    fn with_source(image: Image) -> Image {
        image.write(&format!("{SOURCE}/anchors/rsa.pem"), &fixture("rsa.pem"));
        image
    }

    #[test]
    fn a_healthy_machine_is_silent() {
        for image in [installed(), enabled(), with_source(enabled())] {
            assert!(image.findings(&CHECK).is_empty());
        }
    }

    #[test]
    fn a_file_of_a_place_can_t_be_read() {
        let image = with_source(enabled());
        image.write(&format!("{SOURCE}/blocklist/bad.p11-kit"), UNKNOWN);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/etc/pki/ca-trust/source/blocklist/bad.p11-kit")));
        assert_eq!(
            finding.facts.shown,
            [
                "p11-kit loads the token by /etc/pkcs11/modules/p11-kit-trust.module",
                "it belongs to the place /etc/pki/ca-trust/source",
                "its other places give no anchor either: /usr/share/pki/ca-trust-source",
            ]
        );
        assert!(finding.remedy.starts_with("remove the file from the directory, "), "{}", finding.remedy);
    }

    #[test]
    fn a_bundle_that_is_the_place() {
        let image = enabled();
        image.write(
            "etc/ssl/certs/ca-certificates.crt",
            "-----BEGIN TRUSTED CERTIFICATE-----\nMAMCAQA=\n-----END TRUSTED CERTIFICATE-----\n",
        );
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/etc/ssl/certs/ca-certificates.crt")));
        assert!(
            finding.what.ends_with(": it may take trust away, in a form that the token does not know"),
            "{}",
            finding.what
        );
        assert!(finding.remedy.starts_with("remove the last addition from"), "{}", finding.remedy);
        // A damaged block only removes itself.
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        image.write("etc/ssl/certs/ca-certificates.crt", &(fixture("rsa.pem") + damaged));
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn less_is_said_where_p11_kit_does_not_rely_on_it() {
        let image = with_source(installed());
        image.write(&format!("{SOURCE}/bad.p11-kit"), UNKNOWN);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.severity, Severity::Note);
        assert!(
            finding.facts.shown[0].ends_with(" installed as /usr/lib/x86_64-linux-gnu/pkcs11/libwindlass_pkcs11.so"),
            "{:?}",
            finding.facts
        );
        image.write("etc/pkcs11/modules/windlass.module", "module: libwindlass_pkcs11.so\ntrust-policy: yes\n");
        assert_eq!(image.finding(&CHECK).severity, Severity::Warning, "p11-kit's own module is loaded as well");
        image.write("etc/pkcs11/modules/p11-kit-trust.module", "enable-in:\n");
        assert_eq!(image.finding(&CHECK).severity, Severity::Error);
        image.remove("usr/lib/x86_64-linux-gnu/pkcs11/libwindlass_pkcs11.so");
        assert!(image.findings(&CHECK).is_empty(), "it is not there");
    }

    /// Links of an image are resolved within it, and their targets are read.
    #[test]
    fn the_places_of_an_image_are_its_own() {
        let image = enabled();
        image.write("opt/anchors/rsa.pem", &fixture("rsa.pem"));
        std::fs::create_dir_all(image.path(SOURCE)).unwrap();
        image.link(&format!("{SOURCE}/anchors"), "/opt/anchors");
        assert!(image.findings(&CHECK).is_empty(), "found by a link to a directory");
        image.write("opt/bad.p11-kit", UNKNOWN);
        image.link(&format!("{SOURCE}/a.p11-kit"), "/opt/bad.p11-kit");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.as_deref(), Some(Path::new("/etc/pki/ca-trust/source/a.p11-kit")));
    }

    #[test]
    fn paths_of_the_configuration_count() {
        let image = enabled();
        image.write("opt/place/bad.p11-kit", UNKNOWN);
        assert!(image.findings(&CHECK).is_empty(), "nothing names it");
        image.remove("etc/pkcs11/modules/p11-kit-trust.module");
        let paths = "module: libwindlass_pkcs11.so\nx-init-reserved: paths='/opt/place'\n";
        image.write("etc/pkcs11/modules/p11-kit-trust.module", paths);
        assert_eq!(image.finding(&CHECK).path.as_deref(), Some(Path::new("/opt/place/bad.p11-kit")));
        image.remove("opt/place/bad.p11-kit");
        assert_eq!(image.finding(&CHECK).path.as_deref(), Some(Path::new("/opt/place")), "nothing is trusted there");
        image.write("opt/place/blocklist/p384.pem", &fixture("p384.pem"));
        assert!(image.findings(&CHECK).is_empty(), "a place to distrust");
        image.write("etc/ssl/certs/ca-certificates.crt", "");
        let finding = image.finding(&CHECK);
        assert_eq!(
            finding.path.as_deref(),
            Some(Path::new("/etc/ssl/certs/ca-certificates.crt")),
            "GnuTLS heeds no paths="
        );
    }

    #[test]
    fn a_place_that_is_closed_to_others() {
        let image = with_source(enabled());
        let close =
            |inside: &str, mode| std::fs::set_permissions(image.path(inside), PermissionsExt::from_mode(mode)).unwrap();
        close(SOURCE, 0o700);
        let finding = image.finding(&CHECK);
        assert_eq!(
            (finding.severity, finding.path.as_deref()),
            (Severity::Error, Some(Path::new("/etc/pki/ca-trust/source")))
        );
        assert_eq!(finding.remedy, "chmod o+x /etc/pki/ca-trust/source");
        // Others can't get this far, and read other places.
        close("etc/pki", 0o700);
        std::fs::create_dir_all(image.path("usr/share/pki")).unwrap();
        close("usr/share/pki", 0o700);
        std::fs::create_dir_all(image.path("usr/share/pki/ca-trust-source")).unwrap();
        assert!(image.findings(&CHECK).is_empty());
        close("usr/share/pki", 0o755);
        assert_eq!(image.finding(&CHECK).remedy, "chmod o+x /etc/pki");
        close("etc/pki", 0o755);
        let bundle = enabled();
        let mode = PermissionsExt::from_mode(0o640);
        std::fs::set_permissions(bundle.path("etc/ssl/certs/ca-certificates.crt"), mode).unwrap();
        assert_eq!(bundle.finding(&CHECK).remedy, "chmod o+r /etc/ssl/certs/ca-certificates.crt");
    }

    #[test]
    fn a_directory_that_hides_the_bundle() {
        let image = enabled();
        std::fs::create_dir_all(image.path("etc/pki/trust/anchors")).unwrap();
        let finding = image.finding(&CHECK);
        assert_eq!((finding.severity, finding.path.as_deref()), (Severity::Error, Some(Path::new("/etc/pki/trust"))));
        assert_eq!(
            finding.facts.shown[1..],
            [
                "/etc/pki/trust: no certificate",
                "/usr/share/pki/trust: no certificate",
                "not read, as earlier places exist: /etc/ssl/certs/ca-certificates.crt",
            ]
        );
    }

    #[test]
    fn what_is_too_large_is_not_read() {
        let image = with_source(enabled());
        std::fs::File::create(image.path(&format!("{SOURCE}/anchors/large"))).unwrap().set_len(1 << 30).unwrap();
        let outcome = image.outcome(&CHECK);
        assert_eq!((outcome.findings.len(), &*outcome.unseen.shown()[0].why), (0, "larger than 64 MiB"));
    }
}
