//! What is superfluous in a store of .NET.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::directory::{Directory, Seen};
use super::plan::{Context, Found, Item, Note};
use crate::places::PlaceKind;
use crate::places::certificate::Certificate;
use crate::places::read::{self, Work};
use crate::places::superfluous::{judge, kept};

/// A file holds one certificate, and maybe its key.
const MAX_PFX: u64 = 1 << 20;

struct File {
    name: OsString,
    seen: Seen,
    certificate: Certificate,
}

/// Looks through the directory. A file with several certificates, or with none that can be read, stays.
pub fn look(directory: &Directory, context: &Context<'_>) -> io::Result<Found> {
    let work = Work::default();
    let mut found = Found::default();
    let (mut files, mut locked) = (Vec::new(), 0);
    for name in directory.names()? {
        if Path::new(&name).extension().is_none_or(|extension| extension != "pfx") {
            continue;
        }
        let Ok(Some((seen, bytes))) = directory.look(&name, MAX_PFX) else { continue };
        if seen.target.is_some() {
            if !directory.leads_somewhere(&name) {
                let reason = "a link that leads nowhere".into();
                found.items.push(Item { name, reason, certificate: None, seen });
            }
            continue;
        }
        let entries = read::read(PlaceKind::DotnetStore, &bytes, &work).unwrap_or_default();
        match entries.as_slice() {
            [entry] => match Certificate::of(&entry.der) {
                Some(certificate) => files.push(File { name, seen, certificate }),
                None => locked += 1,
            },
            [] => locked += 1,
            several => found.kept += several.len(),
        }
    }
    // Of equal certificates the first stays: the one that has a key with it, under .NET's own name (others have a number in theirs).
    files.sort_by_key(|file| (-file.seen.size, file.name.len(), file.name.clone()));
    let certificates: Vec<_> = files.iter().map(|file| Some(file.certificate.clone())).collect();
    let judged = judge(&certificates, context.now);
    found.kept += kept(&certificates, &judged);
    for (File { name, seen, certificate }, judgement) in files.into_iter().zip(judged) {
        let test = certificate.test_like().filter(|_| context.tests);
        let reason = match (judgement, test) {
            (Some(superfluous), _) => superfluous.reason(&certificate),
            (None, Some(test)) => {
                found.kept = found.kept.saturating_sub(1);
                test.reason().to_owned()
            }
            (None, None) => continue,
        };
        found.items.push(Item { name, reason, certificate: Some(certificate.name), seen });
    }
    found.items.sort_by(|one, other| one.name.cmp(&other.name));
    if locked > 0 {
        let what = format!("{locked} files in it can't be read (a password of their own, or no PKCS#12) and stay");
        found.notes.push(Note::new(&directory.path, what, ""));
    }
    Ok(found)
}
