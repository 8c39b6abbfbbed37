//! The PKCS#11 modules that p11-kit loads into programs.

use std::collections::BTreeSet;

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::Machine;
use crate::p11_kit::Configuration;

pub const CHECK: Check = Check {
    id: "p11-kit-module",
    title: "a p11-kit module is missing, or several modules provide trust",
    severity: Severity::Warning,
    explanation: "\
        p11-kit loads the PKCS#11 modules that are named in /usr/share/p11-kit/modules, /etc/pkcs11/modules and, for \
        a user, ~/.config/pkcs11/modules, into each program with GnuTLS, and into others that ask for it. A file in a \
        later directory overrides the settings of the file of the same name in an earlier one. A module with \
        `trust-policy: yes` decides which certificates are trusted: p11-kit-trust.so, and perhaps another.\n\n\
        It is a warning if the library of a module is missing, or if several modules decide what is trusted and are \
        not kept apart by enable-in or disable-in (other than for p11-kit-proxy): programs then search the anchors of \
        all of them. The library of `module: NAME` is looked for where distributions build p11-kit to look: pkcs11 in \
        /usr/lib64, /usr/lib and its directories of architectures, and /usr/local/lib.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let configuration = Configuration::read(machine, outcome);
    let mut told = BTreeSet::new();
    let homes = configuration.homes().into_iter().map(Some);
    for home in [None].into_iter().chain(homes) {
        let modules = configuration.modules(home);
        let (there, missing): (Vec<_>, Vec<_>) = modules.iter().partition(|module| module.library(machine).is_some());
        for module in missing {
            if told.insert(vec![&module.place.path]) {
                outcome.found(
                    Finding::new(
                        Severity::Warning,
                        &module.place.path,
                        format!(
                            "\
                        names a module that does not exist: {}",
                            module.named()
                        ),
                    )
                    .about([module.named().to_owned()])
                    .reason(
                        "each program with GnuTLS looks for it, and p11-kit reports this only in its debug \
                                 output; the module's function is missing",
                    )
                    .remedy(
                        "install the package that contains the library, or remove this file with the package \
                                 that left it",
                    ),
                );
            }
        }
        let trusting: Vec<_> = there.into_iter().filter(|module| module.has_trust() && !module.is_limited()).collect();
        if let [first, _, ..] = &trusting[..]
            && told.insert(trusting.iter().map(|module| &module.place.path).collect())
        {
            let facts = trusting.iter().map(|module| format!("{}: {}", module.place.path.display(), module.named()));
            outcome.found(
                Finding::new(
                    Severity::Warning,
                    &first.place.path,
                    format!(
                        "is one of {} modules that provide \
                    trust",
                        trusting.len()
                    ),
                )
                .about(trusting.iter().map(|module| module.place.path.display().to_string()))
                .facts(facts)
                .reason(
                    "programs see the anchors of all of them, each anchor several times, and search them all \
                             at each verification",
                )
                .remedy(
                    "leave trust to one: for the others, `trust-policy: no`, or `enable-in:` with nothing behind \
                         it, in a file of the same \
                         name in /etc/pkcs11/modules",
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    const TRUST: &str = "usr/share/p11-kit/modules/p11-kit-trust.module";

    fn image() -> Image {
        let image = Image::healthy();
        image.write(TRUST, "# comment\nmodule: p11-kit-trust.so\ntrust-policy: yes\n");
        image.write("usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-trust.so", "");
        image
    }

    #[test]
    fn the_usual_module_is_silent() {
        assert!(image().findings(&CHECK).is_empty());
    }

    #[test]
    fn a_module_that_is_not_there() {
        let image = image();
        image.write("usr/share/p11-kit/modules/card.module", "module: opensc-pkcs11.so\n");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.what, "names a module that does not exist: opensc-pkcs11.so");
        for off in ["module:\n", "enable-in:\n"] {
            image.write("etc/pkcs11/modules/card.module", off);
            assert!(image.findings(&CHECK).is_empty(), "switched off: {off}");
        }
        // p11-kit has no such option. The library is still the package's.
        image.write("etc/pkcs11/modules/card.module", "enable: no\n");
        let path = image.finding(&CHECK).path;
        assert_eq!(path.as_deref(), Some("/usr/share/p11-kit/modules/card.module".as_ref()));
        image.write("opt/card.so", "");
        image.write("etc/pkcs11/modules/card.module", "module: /opt/card.so\n");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn two_that_say_what_is_trusted() {
        let image = image();
        image.write("opt/windlass.so", "");
        image.write("etc/pkcs11/modules/windlass.module", "module: /opt/windlass.so\ntrust-policy: yes\n");
        let finding = image.finding(&CHECK);
        assert_eq!((finding.what.as_str(), finding.facts.shown.len()), ("is one of 2 modules that provide trust", 2));
        // As in p11-kit's own file.
        image.write(TRUST, "module: p11-kit-trust.so\ntrust-policy: yes\ndisable-in: p11-kit-proxy\n");
        assert!(image.finding(&CHECK).remedy.contains("`trust-policy: no`"));
        for off in ["trust-policy: no", "enable-in:", "enable-in: trust", "disable-in: curl, wget"] {
            image.write("etc/pkcs11/modules/p11-kit-trust.module", off);
            assert!(image.findings(&CHECK).is_empty(), "kept apart: {off}");
        }
    }

    #[test]
    fn what_a_user_has_is_one_with_the_file_of_that_name() {
        let image = image();
        image.write("etc/passwd", "a:x:1:1::/home/a:\n");
        image.write("opt/windlass.so", "");
        image.write("home/a/.config/pkcs11/modules/p11-kit-trust.module", "module: /opt/windlass.so\n");
        assert!(image.findings(&CHECK).is_empty());
        image.write("home/a/.config/pkcs11/modules/b.module", "module: /opt/windlass.so\ntrust-policy: yes\n");
        let facts = image.finding(&CHECK).facts.shown;
        assert!(facts.iter().all(|fact| fact.starts_with("/home/a/.config/pkcs11/modules/")), "{facts:?}");
    }
}
