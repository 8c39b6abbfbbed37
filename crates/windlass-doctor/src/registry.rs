//! The list of all checks.

use super::check::Check;
use super::machine::Machine;
use super::{checks, private};

/// All checks, in the order in which they run and are listed.
pub fn all() -> impl Iterator<Item = &'static Check> {
    checks::ALL.iter().chain(private::ALL)
}

/// The check of this name.
pub fn named(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}

/// Whether a check has anything to examine: no program of an image runs.
pub fn applies(check: &Check, machine: &Machine<'_>) -> bool {
    !machine.is_image() || !needs_running(check)
}

/// Whether a check examines running programs only.
pub fn needs_running(check: &Check) -> bool {
    check.id == checks::processes::CHECK.id
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::Image;

    #[test]
    fn a_healthy_machine_is_silent() {
        let (healthy, empty) = (Image::healthy(), Image::empty());
        for check in all() {
            let findings = healthy.findings(check);
            assert!(findings.is_empty(), "{}: {findings:?}", check.id);
            let findings = empty.findings(check);
            // Only this check is about a machine without certificates.
            let is_fault = check.id == "no-default-source";
            assert_eq!(findings.is_empty(), !is_fault, "{}, without certificates: {findings:?}", check.id);
        }
    }

    #[test]
    fn names_are_distinct_and_well_formed() {
        let mut seen = BTreeSet::new();
        for check in all() {
            assert!(seen.insert(check.id), "{} twice", check.id);
            assert!(
                check.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{}",
                check.id
            );
            assert!(named(check.id).is_some() && !check.title.ends_with('.'), "{}", check.id);
        }
    }

    #[test]
    fn explanations_are_whole_paragraphs() {
        for check in all() {
            let paragraphs: Vec<_> = check.explanation.split("\n\n").collect();
            assert!(
                paragraphs.iter().all(|text| text.ends_with('.') && !text.contains('\n')),
                "{}: {paragraphs:?}",
                check.id
            );
        }
    }
}
