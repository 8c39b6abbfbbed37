//! Superfluous files in a .NET store.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use windlass_machine::places::PlaceKind;
use windlass_machine::places::certificate::Certificate;
use windlass_machine::places::read::{self, Entry};
use windlass_machine::places::superfluous::{judge, kept};

use super::context::{Context, MAX_BYTES};
use super::plan::{Found, Item, Note};
use windlass_journal::Directory;
use windlass_journal::Seen;

/// A file holds one certificate, and possibly its key.
const MAX_PFX: u64 = 1 << 20;

struct File {
    name: OsString,
    seen: Seen,
    certificate: Certificate,
}

/// Searches the directory. A file with several certificates, or with none that can be read, stays.
pub fn look(directory: &Directory, context: &Context<'_>) -> io::Result<Found> {
    let mut found = Found::default();
    let spent = context.spent.by(directory.owner()?.0);
    let (mut files, mut staying, mut locked) = (Vec::new(), Vec::new(), 0);
    for name in directory.names()? {
        if Path::new(&name).extension().is_none_or(|extension| extension != "pfx") {
            continue;
        }
        let Ok(Some((seen, bytes))) = directory.look(&name, MAX_PFX) else { continue };
        if seen.target.is_some() {
            if !context.leads_somewhere(directory, &name) {
                let reason = "a link that leads nowhere".into();
                found.items.push(Item::new(name, reason, None, seen));
            }
            continue;
        }
        if spent.bytes.replace(spent.bytes.get().saturating_add(bytes.len())) > MAX_BYTES {
            let what = format!("was examined only in part: its owner has more than {} MiB in stores", MAX_BYTES >> 20);
            found.notes.push(Note::new(&directory.path, what, ""));
            break;
        }
        let entries = read::read(PlaceKind::DotnetStore, &bytes, &spent.work).unwrap_or_default();
        match entries.as_slice() {
            [entry] => match entry.certificate() {
                Some(certificate) => files.push(File { name, seen, certificate }),
                None => locked += 1,
            },
            [] => locked += 1,
            several => {
                found.kept += several.len();
                staying.extend(several.iter().filter_map(Entry::certificate));
            }
        }
    }
    // Of equal certificates, the first is kept: the one with a key, or under .NET's own name (others have a number in
    // theirs).
    files.sort_by_key(|file| (-file.seen.size, file.name.len(), file.name.clone()));
    let certificates: Vec<_> = files.iter().map(|file| Some(file.certificate.clone())).collect();
    let judged = judge(&certificates, context.now, context.tests);
    found.kept += kept(&certificates, &judged);
    for (File { name, seen, certificate }, judgement) in files.into_iter().zip(judged) {
        let Some(superfluous) = judgement else {
            staying.push(certificate);
            continue;
        };
        found.items.push(Item::new(name, superfluous.reason(&certificate), Some(&certificate), seen));
    }
    found.name_alike(&staying);
    found.items.sort_by(|one, other| one.name.cmp(&other.name));
    if locked > 0 {
        let what = format!(
            "{locked} files in it can't be read (a password of their own, too hard to decrypt, or no PKCS#12) and stay"
        );
        found.notes.push(Note::new(&directory.path, what, ""));
    }
    Ok(found)
}
