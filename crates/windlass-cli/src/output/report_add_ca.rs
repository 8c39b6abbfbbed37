//! What `--stats` says of `--add-ca`, for people.

use windlass_run::add_ca::report::{AddCa, AddedCertificate};

use super::terminal::printable;

/// Who is not told, whatever the flag does.
const OUT_OF_REACH: &str = "programs with roots of their own that read none of these variables (browsers, Java without the java \
                            launcher), setuid programs, and what runs elsewhere (containers, daemons, snap, flatpak)";

/// The lines behind the counters.
pub fn render(added: &AddCa) -> String {
    let count = added.certificates.len();
    let mut text =
        format!("windlass: {count} certificate{} trusted for this run only\n", if count == 1 { "" } else { "s" });
    for AddedCertificate { name, file, .. } in &added.certificates {
        text.push_str(&format!("  {} ({})\n", printable(name), printable(file)));
    }
    let names: Vec<_> = added.variables.keys().copied().collect();
    text.push_str(&format!(
        "  added to {} load{} of OpenSSL and GnuTLS\n",
        added.loads,
        if added.loads == 1 { "" } else { "s" }
    ));
    text.push_str(&format!("  set for other programs: {}\n", names.join(", ")));
    for (name, why) in &added.left {
        text.push_str(&format!("  {name} was left as it was: {}\n", printable(why)));
    }
    text.push_str(&format!("  out of reach: {OUT_OF_REACH}\n"));
    text
}
