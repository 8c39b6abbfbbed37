//! The PKCS#11 modules that p11-kit loads into programs.

use std::path::{Path, PathBuf};

use crate::doctor::check::{Check, Finding, Outcome, Severity};
use crate::doctor::machine::{Machine, Target};
use crate::places::{Place, PlaceKind};

pub const CHECK: Check = Check {
    id: "p11-kit-module",
    title: "a module of p11-kit is missing, or several of them say what is trusted",
    severity: Severity::Warning,
    explanation: "p11-kit loads the PKCS#11 modules that are named in /usr/share/p11-kit/modules, /etc/pkcs11/modules and, for a user, \
        ~/.config/pkcs11/modules, into each program with GnuTLS, and into others that ask it. A file of the same name in the latter takes \
        the place of one in the former. A module with `trust-policy: yes` says which certificates are trusted: p11-kit-trust.so, and \
        perhaps another.\n\nIt is a warning where the library of a module is not there, and where several modules that are not kept \
        apart by enable-in or disable-in say what is trusted: programs then go through the anchors of all of them. The library of \
        `module: NAME` is looked for where distributions build p11-kit to look: pkcs11 in /usr/lib64, /usr/lib and its directories of \
        architectures, and /usr/local/lib.",
    run,
};

/// No configuration is larger.
const MAX_CONFIGURATION: u64 = 64 << 10;

struct Module<'a> {
    place: &'a Place,
    library: String,
    has_trust: bool,
    /// It is loaded by some programs only.
    is_limited: bool,
}

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let mut modules: Vec<Module<'_>> = Vec::new();
    for place in machine.places().iter().filter(|place| place.kind == PlaceKind::P11KitModule) {
        let Some(content) = outcome.seen(machine.read(&place.path, MAX_CONFIGURATION)) else { continue };
        let is_users = machine.homes.iter().any(|home| place.path.starts_with(home));
        if !is_users {
            // The administrator's file of that name comes after the package's, and is the one that counts.
            modules.retain(|other| other.place.path.file_name() != place.path.file_name());
        }
        modules.extend(Module::of(place, &String::from_utf8_lossy(&content.bytes)));
    }
    let missing = modules.iter().filter(|module| !module.is_there(machine));
    outcome.findings.extend(missing.map(|module| {
        Finding::new(Severity::Warning, &module.place.path, format!("names a module that is not there: {}", module.library))
            .reason("each program with GnuTLS looks for it, and p11-kit says so in its debug output only; what the module was for does not work")
            .remedy("install the package that brings the library, or remove this file with the package that left it")
    }));
    let trusting: Vec<_> =
        modules.iter().filter(|module| module.has_trust && !module.is_limited && module.is_there(machine)).collect();
    if let [first, _, ..] = &trusting[..] {
        let facts = trusting.iter().map(|module| format!("{}: {}", module.place.path.display(), module.library));
        outcome.found(
            Finding::new(Severity::Warning, &first.place.path, format!("is one of {} modules that say what is trusted", trusting.len()))
                .facts(facts)
                .reason("programs see the anchors of all of them, each anchor several times, and search them all at each verification")
                .remedy("leave trust to one: `disable-in: p11-kit` or `enable: no` in a file of the same name in /etc/pkcs11/modules for the others"),
        );
    }
}

impl<'a> Module<'a> {
    /// None: it is no module, or is switched off (pkcs11.conf(5)).
    fn of(place: &'a Place, text: &str) -> Option<Module<'a>> {
        let value = |wanted: &str| {
            let mut pairs =
                text.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(|line| line.split_once(':'));
            pairs.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
        };
        let is = |name: &str, wanted: &str| value(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted));
        if is("enable", "no") {
            return None;
        }
        let library = value("module").filter(|library| !library.is_empty())?.to_owned();
        let is_limited = value("enable-in").or_else(|| value("disable-in")).is_some();
        Some(Module { place, library, has_trust: is("trust-policy", "yes"), is_limited })
    }

    fn is_there(&self, machine: &Machine<'_>) -> bool {
        let is_file = |path: &Path| matches!(machine.look(path), Ok(Target::File(_)));
        if self.library.starts_with('/') {
            return is_file(Path::new(&self.library));
        }
        let mut directories: Vec<PathBuf> = ["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from).into();
        if let Ok((entries, _)) = machine.entries(Path::new("/usr/lib")) {
            let is_architecture = |name: &str| name.contains("-linux-");
            directories.extend(
                entries
                    .into_iter()
                    .filter(|entry| entry.name.to_str().is_some_and(is_architecture))
                    .map(|entry| entry.path),
            );
        }
        directories.iter().any(|directory| is_file(&directory.join("pkcs11").join(&self.library)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{Image, assert_silent};

    const TRUST: &str = "usr/share/p11-kit/modules/p11-kit-trust.module";

    fn image() -> Image {
        let image = Image::healthy();
        image.write(TRUST, "# comment\nmodule: p11-kit-trust.so\ntrust-policy: yes\n");
        image.write("usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-trust.so", "");
        image
    }

    #[test]
    fn the_usual_module_is_silent() {
        assert_silent(&CHECK);
        assert!(image().findings(&CHECK).is_empty());
    }

    #[test]
    fn a_module_that_is_not_there() {
        let image = image();
        image.write("usr/share/p11-kit/modules/card.module", "module: opensc-pkcs11.so\n");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.what, "names a module that is not there: opensc-pkcs11.so");
        image.write("etc/pkcs11/modules/card.module", "module: /opt/card.so\nenable: no\n");
        assert!(image.findings(&CHECK).is_empty(), "switched off");
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
        assert_eq!(
            (finding.what.as_str(), finding.facts.shown.len()),
            ("is one of 2 modules that say what is trusted", 2)
        );
        image.write(TRUST, "module: p11-kit-trust.so\ntrust-policy: yes\nenable-in: p11-kit\n");
        assert!(image.findings(&CHECK).is_empty(), "kept apart");
    }
}
