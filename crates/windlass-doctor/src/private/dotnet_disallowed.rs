//! .NET's store of refused certificates, which must be empty on Linux.

use windlass_machine::places::PlaceKind;

use crate::check::{Check, Finding, Outcome, Severity};
use crate::machine::{Machine, Target};

pub const CHECK: Check = Check {
    id: "dotnet-disallowed",
    title: "files in .NET's Disallowed store, which make every verification fail",
    severity: Severity::Error,
    explanation: "\
        On Linux, .NET can't refuse individual certificates. If the directory disallowed of a user's stores \
        (~/.dotnet/corefx/cryptography/x509stores) holds any file, X509Chain.Build fails in every program of that \
        user: \"The Disallowed store is not supported on this platform, but already has data\". .NET does not write \
        there: the file was copied with the stores of another machine, or written by a script.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    for place in machine.places().iter().filter(|place| place.kind == PlaceKind::DotnetStore) {
        // .NET writes the names of stores in lower case.
        let is_it = place.path.file_name().is_some_and(|name| name == "disallowed");
        if !is_it || !matches!(machine.look(&place.path), Ok(Target::Directory)) {
            continue;
        }
        let Some((entries, more)) = outcome.seen(machine.entries(&place.path)) else { continue };
        more.into_iter().for_each(|unseen| outcome.not_seen(unseen));
        let is_file = |path: &std::path::Path| matches!(machine.look(path), Ok(Target::File(_)));
        let files: Vec<_> = entries.into_iter().filter(|entry| is_file(&entry.path)).collect();
        if files.is_empty() {
            continue;
        }
        let names: Vec<_> = files.iter().map(|file| file.name.to_string_lossy().into_owned()).collect();
        outcome.found(
            Finding::new(Severity::Error, &place.path, format!("has files in it ({})", place.why))
                .about(names.clone())
                .facts(names)
                .reason(".NET programs of this user refuse every certificate, with an error about this directory")
                .remedy("move these files elsewhere; .NET on Linux has no way to refuse a certificate"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn any_file_is_one_too_many() {
        let image = Image::healthy();
        image.write("etc/passwd", "a:x:1000:1000::/home/a:/bin/sh\n");
        let store = "home/a/.dotnet/corefx/cryptography/x509stores/disallowed";
        std::fs::create_dir_all(image.path(store).join("folder")).unwrap();
        image.write(&store.replace("disallowed", "root/A.pfx"), "");
        assert!(image.findings(&CHECK).is_empty());
        image.write(&format!("{store}/README"), "not even a certificate");
        let finding = image.finding(&CHECK);
        assert_eq!(finding.path.unwrap(), std::path::Path::new("/").join(store));
        assert_eq!(finding.facts.shown, ["README"]);
    }
}
