//! `run --stats` for people.

use windlass_run::add_ca::report::{AddCa, AddedCertificate};
use windlass_run::counters::{ADAPTERS, BYPASS, PROCESSES, Report, SERVED, Summary};

use crate::output::terminal::printable;

/// Sections in the order of the report; what else adapters count comes after them.
const SECTIONS: [(&str, &str); 5] = [
    (SERVED, "served, by function"),
    (BYPASS, "left to the program's own library, by reason"),
    (ADAPTERS[0], "OpenSSL"),
    (ADAPTERS[1], "GnuTLS"),
    ("cache", "sources of trust"),
];

/// Who is not told, whatever the flag does.
const OUT_OF_REACH: &str = "programs that have their own roots and read none of these variables (browsers, Java \
                            without the java launcher), setuid programs, and programs that run elsewhere \
                            (containers, daemons, snap, flatpak)";

/// The whole report.
pub fn render(report: &Report) -> String {
    let mut text = if report.summary.processes == 0 { nobody(report) } else { totals(&report.summary) };
    let known = SECTIONS.iter().map(|(section, title)| (*section, *title));
    let others = report.counters.keys().map(String::as_str);
    let others = others.filter(|section| SECTIONS.iter().all(|(known, _)| known != section));
    for (section, title) in known.chain(others.map(|section| (section, section))) {
        let names = report.counters.get(section).into_iter().flatten();
        // Every counter of the library is there from the start: most say that nothing happened. Processes are in the
        // first line.
        let is_total = |name: &str| section == ADAPTERS[0] && name == PROCESSES;
        let mut names: Vec<_> = names.filter(|(name, value)| **value > 0 && !is_total(name)).collect();
        if names.is_empty() {
            continue;
        }
        names.sort_by_key(|(_, value)| std::cmp::Reverse(**value));
        text.push_str(&format!("  {}\n", printable(title)));
        for (name, value) in names {
            text.push_str(&format!("{value:>14}  {}\n", printable(name)));
        }
    }
    text
}

fn totals(summary: &Summary) -> String {
    let Summary { processes, served, bypassed, certificates, parsed, saved } = summary;
    let mut text = format!(
        "windlass: {served} call{} served and {bypassed} bypassed in {processes} process{}\n",
        plural(*served, "s"),
        plural(*processes, "es")
    );
    if parsed > certificates {
        // Lookups in hashed directories parse, too, and count as no load.
        text.push_str(&format!("  {parsed} certificates parsed for loads of {certificates}: none saved\n"));
    } else if *certificates > 0 {
        text.push_str(&format!("  {parsed} of {certificates} certificates parsed, {saved} saved\n"));
    }
    text
}

fn plural(count: u64, ending: &str) -> &str {
    if count == 1 { "" } else { ending }
}

fn nobody(report: &Report) -> String {
    let mut text = String::from("windlass: no process attached, so nothing was served\n");
    if let Some(reason) = &report.unreachable {
        text.push_str(&format!("  {}\n", printable(reason)));
        return text;
    }
    text.push_str(
        "  The program loaded no CA certificates through a dynamically linked libcrypto or libgnutls, or it is out \
         of\n  \
         reach: OpenSSL or GnuTLS linked into it, static, setuid, of another architecture, or run as another user\n  \
         or elsewhere.\n",
    );
    text.push_str(&format!(
        "  To see which libraries it loads: LD_DEBUG=files windlass run -- {} 2>&1 | grep -E \
         'libcrypto|libgnutls|windlass'\n",
        printable(&report.command)
    ));
    text
}

/// The lines behind the counters.
pub fn added(set: &AddCa) -> String {
    let count = set.certificates.len();
    let mut text = format!("windlass: {count} certificate{} trusted for this run only\n", plural(count as u64, "s"));
    for AddedCertificate { name, file, .. } in &set.certificates {
        text.push_str(&format!("  {} ({})\n", printable(name), printable(file)));
    }
    let names: Vec<_> = set.variables.keys().copied().collect();
    text.push_str(&format!("  added to {} load{} of OpenSSL and GnuTLS\n", set.loads, plural(set.loads, "s")));
    text.push_str(&format!("  set for other programs: {}\n", names.join(", ")));
    for (name, why) in &set.left {
        text.push_str(&format!("  {name} was left unchanged: {}\n", printable(why)));
    }
    text.push_str(&format!("  out of reach: {OUT_OF_REACH}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_parsed_of_something_than_there_is() {
        let summary = |certificates, parsed| Summary {
            processes: 1,
            served: 1,
            bypassed: 0,
            certificates,
            parsed,
            saved: u64::saturating_sub(certificates, parsed),
        };
        assert!(totals(&summary(150, 3)).contains("3 of 150 certificates parsed, 147 saved"));
        let text = totals(&summary(150, 151));
        assert!(text.contains("  151 certificates parsed for loads of 150: none saved\n"), "{text}");
    }
}
