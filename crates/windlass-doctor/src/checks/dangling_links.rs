//! Links of a hashed directory without a target.

use crate::check::{Check, Finding, Outcome, Severity, counted};
use crate::directory::{Directory, Item, Leads};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "dangling-links",
    title: "dangling links in a hashed directory",
    severity: Severity::Warning,
    explanation: "\
        A dangling hash link once led to a certificate that is gone. OpenSSL's versions treat it differently: 3.0 \
        and 4.0 continue with the next number, 3.5 stops there and finds no higher number.\n\n\
        OpenSSL never reads other links, for example Some_Root.pem to a file that a package removed; GnuTLS and \
        programs that read the whole directory try each of them.\n\n\
        `windlass prune` removes them, with a backup.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for directory in &sources.directories {
        let dangling = |is_hashed: bool| {
            let items = directory.items.iter().filter(move |item| item.name.is_some() == is_hashed);
            let items = items.filter(|item| item.is_link && matches!(item.leads, Leads::Nowhere));
            items.map(|item| match machine.root.target(&item.path) {
                Some(target) => format!("{} -> {}", item.name(), target.display()),
                None => item.name(),
            })
        };
        // `prune` refuses if most hash links have no target, or no anchor would be left: the targets may be on a file
        // system that is not mounted.
        let options: &[&str] = if is_refused(directory) { &["--force"] } else { &[] };
        let (prune, inside) = (machine.prune_with(options, &directory.real), machine.inside());
        let remedy = format!(
            "`{prune}` removes them, with a backup; if a certificate is lost, restore it first, then {inside}openssl \
             rehash {}",
            directory.real.display()
        );
        let hash_links = ["hash link leads nowhere", "hash links lead nowhere"];
        let links = ["link leads nowhere", "links lead nowhere"];
        let (hashed, others): (Vec<_>, Vec<_>) = (dangling(true).collect(), dangling(false).collect());
        if !hashed.is_empty() {
            outcome.found(
                Finding::new(Severity::Warning, &directory.real, counted(hashed.len(), hash_links))
                    .about(hashed.iter().cloned())
                    .facts(hashed)
                    .reason(
                        "a trusted certificate is gone; OpenSSL 3.5 also finds no certificate with the same hash \
                             and a higher number",
                    )
                    .remedy(&remedy),
            );
        }
        if !others.is_empty() {
            outcome.found(
                Finding::new(Severity::Note, &directory.real, counted(others.len(), links))
                    .about(others.iter().cloned())
                    .facts(others)
                    .reason(
                        "left over from certificates that are gone; programs that read the whole directory try \
                             to open them each time",
                    )
                    .remedy(&remedy),
            );
        }
    }
}

fn is_refused(directory: &Directory) -> bool {
    let is_nowhere = |item: &&Item| item.is_link && matches!(item.leads, Leads::Nowhere);
    let by_hash: Vec<_> = directory.items.iter().filter(|item| item.name.is_some_and(|name| !name.is_crl)).collect();
    let nowhere = by_hash.iter().copied().filter(is_nowhere).count();
    match by_hash.len() {
        0 => directory.items.iter().all(|item| is_nowhere(&item)),
        all => nowhere * 2 > all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, hash};

    #[test]
    fn the_file_behind_is_gone() {
        let image = Image::healthy();
        image.remove("usr/share/ca-certificates/rsa.pem");
        let findings = image.findings(&CHECK);
        let seen: Vec<_> =
            findings.iter().map(|finding| (finding.severity, &*finding.what, &*finding.facts.shown[0])).collect();
        let link = format!("{}.0 -> /etc/ssl/certs/rsa.pem", hash("rsa.pem"));
        let other = "rsa.pem -> /usr/share/ca-certificates/rsa.pem";
        assert_eq!(
            seen,
            [(Severity::Warning, "1 hash link leads nowhere", &*link), (Severity::Note, "1 link leads nowhere", other)]
        );
    }

    #[test]
    fn prune_is_named_for_what_was_looked_at() {
        let image = Image::healthy();
        image.link("etc/ssl/certs/01234567.0", "nowhere");
        let remedy = image.finding(&CHECK).remedy;
        let root = image.root().display();
        assert!(remedy.starts_with(&format!("`windlass prune --root {root} /etc/ssl/certs` removes ")), "{remedy}");
        assert!(remedy.contains("inside the image: openssl rehash /etc/ssl/certs"), "{remedy}");
    }

    #[test]
    fn the_command_is_one_that_does_it() {
        let image = Image::healthy();
        let root = image.root().display().to_string();
        for number in 0..9 {
            image.link(&format!("etc/ssl/certs/0000000{number}.0"), "nowhere");
        }
        let remedy = image.finding(&CHECK).remedy;
        assert!(
            remedy.starts_with(&format!("`windlass prune --root {root} --force /etc/ssl/certs` removes ")),
            "{remedy}"
        );
    }

    #[test]
    fn a_link_to_itself_leads_nowhere() {
        let image = Image::healthy();
        image.link("etc/ssl/certs/01234567.r0", "01234567.r0");
        assert_eq!(image.finding(&CHECK).severity, Severity::Warning);
    }
}
