//! What is superfluous in a hashed directory.
//!
//! A directory that a tool makes is left to the tool: what came from /usr/share/ca-certificates would be there again
//! after the next update-ca-certificates. A certificate that is no authority is left alone too: a server may use the
//! file for itself, as Debian's snakeoil certificate.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use windlass_machine::places::PlaceKind;
use windlass_machine::places::certificate::Certificate;
use windlass_machine::places::known_paths::GENERATED;
use windlass_machine::places::read::{self, Work};
use windlass_machine::places::superfluous::{Superfluous, judge};

use super::context::Context;
use super::hash_name::HashName;
use super::plan::{Found, Item, Note};
use windlass_journal::Directory;
use windlass_journal::Seen;

/// A file of one certificate is smaller; a bundle is larger, and is never touched.
const MAX_FILE: u64 = 256 << 10;
/// Links that are followed within the directory: Debian has two.
const MAX_STEPS: usize = 8;

/// For who knows better.
const MEANT: &str = "if it is meant so all the same: --force";

/// Looks through the directory.
pub fn look(directory: &Directory, context: &Context<'_>) -> io::Result<Found> {
    let inside = context.inside(&directory.path);
    let left = |what: String, remedy: String| Found {
        notes: vec![Note::new(&directory.path, what, remedy)],
        ..Found::default()
    };
    if let Some((_, tool)) = GENERATED.iter().find(|(path, _)| inside.starts_with(path)) {
        let what = format!("is made by {tool}, and would be the same again after its next run");
        return Ok(left(what, within(context, format!("change what {tool} reads, and run it"))));
    }
    if context.packages.are_unknown() {
        let what = String::from("is left alone: what of it belongs to packages of the image can't be read from here");
        return Ok(left(what, String::from("run windlass prune in the image")));
    }
    let mut look = Look {
        directory,
        inside,
        context,
        all: BTreeMap::new(),
        found: Found::default(),
        leaving: BTreeSet::new(),
        nowhere: BTreeSet::new(),
    };
    for name in directory.names()? {
        if let Ok(Some((seen, _))) = directory.look(&name, MAX_FILE) {
            look.all.insert(name, seen);
        }
    }
    look.dangling();
    look.rows();
    if !context.force && !look.found.items.is_empty() {
        look.refuse_if_doubtful();
    }
    if look.found.refused {
        look.leaving.clear();
    }
    look.found.kept = look.staying();
    look.in_order();
    Ok(look.found)
}

/// A remedy as it is said of an image.
fn within(context: &Context<'_>, remedy: String) -> String {
    if context.image.is_some() { remedy + ", in the image" } else { remedy }
}

struct Look<'a> {
    directory: &'a Directory,
    /// The directory as programs know it.
    inside: PathBuf,
    context: &'a Context<'a>,
    /// Regular files and links.
    all: BTreeMap<OsString, Seen>,
    found: Found,
    leaving: BTreeSet<OsString>,
    /// Names that lead nowhere.
    nowhere: BTreeSet<OsString>,
}

impl Look<'_> {
    fn dangling(&mut self) {
        let is_meant = |name: &OsStr| HashName::parse(name).is_some() || is_candidate(name);
        let links = self.all.iter().filter(|(name, seen)| seen.target.is_some() && is_meant(name));
        let dangling: Vec<_> = links
            .map(|(name, _)| name.clone())
            .filter(|name| !self.context.leads_somewhere(self.directory, name))
            .collect();
        for name in dangling {
            let target = self
                .all
                .get(&name)
                .and_then(|seen| seen.target.as_deref())
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            self.leave(&name, format!("leads nowhere: {target} is not there"), None);
            self.nowhere.insert(name);
        }
    }

    fn rows(&mut self) {
        let mut rows: BTreeMap<u32, Vec<(OsString, HashName)>> = BTreeMap::new();
        for name in self.all.keys().filter(|name| !self.leaving.contains(*name)) {
            match HashName::parse(name) {
                Some(hash) if !hash.is_crl => rows.entry(hash.hash).or_default().push((name.clone(), hash)),
                _ => {}
            }
        }
        let now = self.context.now;
        let mut valid = 0;
        let mut going = Vec::new();
        for mut row in rows.into_values() {
            row.sort_by_key(|(_, hash)| hash.number);
            let certificates: Vec<_> = row.iter().map(|(name, _)| self.certificate(name)).collect();
            let judged = judge(&certificates, now);
            for (((name, _), certificate), judgement) in row.into_iter().zip(certificates).zip(judged) {
                let Some(certificate) = certificate else { continue };
                let test = certificate.test_like().filter(|_| self.context.tests);
                // Two CAs of one name are both in use while servers change from one to the other.
                let judgement =
                    judgement.filter(|found| self.context.tests || !matches!(found, Superfluous::Superseded(_)));
                match (&judgement, test) {
                    (Some(superfluous), _) => {
                        going.push((name, superfluous.reason(&certificate), certificate, judgement.clone()))
                    }
                    (None, Some(test)) => going.push((name, test.reason().to_owned(), certificate, None)),
                    (None, None) => valid += 1,
                }
            }
        }
        let is_last = valid == 0 && !self.context.force;
        for (name, reason, certificate, judgement) in going {
            // One of two that are the same may always go: the other stays.
            let is_duplicate = matches!(judgement, Some(Superfluous::Duplicate(_)));
            if is_last && !is_duplicate {
                let path = self.directory.path.join(&name);
                self.found.notes.push(Note::new(
                    &path,
                    format!("stays, though {reason}: no other anchor would be left"),
                    MEANT,
                ));
            } else if is_duplicate {
                self.leave(&name, reason, Some(&certificate));
            } else {
                self.whole(&name, &reason, &certificate);
            }
        }
    }

    /// The certificates that stay in the directory: each that a name by hash leads to, whatever trust settings are
    /// behind it, and those that lie there alone in a file without such a name.
    fn staying(&self) -> usize {
        let stays = |name: &OsString| !self.leaving.contains(name) && !self.nowhere.contains(name);
        let read = |name: &OsString| {
            let bytes = self.context.read_through(self.directory, name, MAX_FILE).unwrap_or_default();
            read::read(PlaceKind::Capath, &bytes, &Work::default()).unwrap_or_default()
        };
        let (mut named, mut alone, mut count) = (BTreeSet::new(), BTreeSet::new(), 0);
        for name in self.all.keys().filter(|name| stays(name)) {
            if HashName::parse(name).is_some_and(|hash| !hash.is_crl) {
                let entries = read(name);
                count += entries.len();
                named.extend(entries.into_iter().map(|entry| entry.der));
            } else if is_candidate(name)
                && let [entry] = read(name).as_slice()
            {
                alone.insert(entry.der.clone());
            }
        }
        count + alone.difference(&named).count()
    }

    /// The one certificate that a name leads to. None if OpenSSL's settings are behind it, which can take trust away:
    /// they say more than the same certificate without them.
    fn certificate(&self, name: &OsStr) -> Option<Certificate> {
        let bytes = self.context.read_through(self.directory, name, MAX_FILE)?;
        if memchr::memmem::find(&bytes, b"BEGIN TRUSTED CERTIFICATE").is_some() {
            return None;
        }
        let entries = read::read(PlaceKind::Capath, &bytes, &Work::default()).ok()?;
        match entries.as_slice() {
            [entry] => entry.certificate(),
            _ => None,
        }
    }

    /// Lets a hash link go with all that it leads to in this directory, and with what else leads there: else the next
    /// `openssl rehash` would make it again.
    fn whole(&mut self, name: &OsStr, reason: &str, certificate: &Certificate) {
        let mut chain = vec![name.to_owned()];
        let mut outside = None;
        while let Some(target) = chain.last().and_then(|last| self.all.get(last)).and_then(|seen| seen.target.clone()) {
            let is_here = Path::new(&target).components().count() == 1 && self.all.contains_key(&target);
            if !is_here || chain.len() > MAX_STEPS {
                outside = Some(target);
                break;
            }
            chain.push(target);
        }
        let path = self.directory.path.join(name);
        if !certificate.is_authority {
            let what = format!("stays, though {reason}: it is no authority, and a server may use the file");
            return self.found.notes.push(Note::new(&path, what, "remove it yourself if no server does"));
        }
        let [distribution, _] = self.context.sources;
        let comes_from = |source: &&Path| outside.as_ref().is_some_and(|target| Path::new(target).starts_with(source));
        if let Some(source) = self.context.sources.into_iter().find(comes_from) {
            let what =
                format!("stays, though {reason}: update-ca-certificates would make it again from {}", source.display());
            let remedy = match source == distribution {
                true => "deselect it with dpkg-reconfigure ca-certificates (/etc/ca-certificates.conf)",
                false => "remove the file there, and run update-ca-certificates",
            };
            return self.found.notes.push(Note::new(&path, what, within(self.context, remedy.to_owned())));
        }
        if let Some((name, package)) = chain.iter().find_map(|name| Some((name, self.owner(name)?))) {
            let note = self.belongs(name, reason, &package);
            return self.found.notes.push(note);
        }
        let leads_there = |seen: &Seen| seen.target.as_ref().is_some_and(|target| chain.contains(target));
        let others: Vec<_> =
            self.all.iter().filter(|(_, seen)| leads_there(seen)).map(|(name, _)| name.clone()).collect();
        for name in chain.into_iter().chain(others) {
            self.leave(&name, reason.to_owned(), Some(certificate));
        }
    }

    fn leave(&mut self, name: &OsStr, reason: String, certificate: Option<&Certificate>) {
        let Some(seen) = self.all.get(name).filter(|_| !self.leaving.contains(name)) else { return };
        if let Some(package) = self.owner(name) {
            let note = self.belongs(name, &reason, &package);
            return self.found.notes.push(note);
        }
        self.leaving.insert(name.to_owned());
        let certificate = certificate.map(|certificate| certificate.name.clone());
        self.found.items.push(Item { name: name.to_owned(), reason, certificate, seen: seen.clone() });
    }

    /// The package that a name in the directory belongs to.
    fn owner(&self, name: &OsStr) -> Option<String> {
        self.context.packages.owner(&self.inside.join(name))
    }

    fn belongs(&self, name: &OsStr, reason: &str, package: &str) -> Note {
        let what = format!("stays, though {reason}: it belongs to the package {package}");
        let remedy = format!("ask for a newer {package}, or remove the package");
        Note::new(&self.directory.path.join(name), what, within(self.context, remedy))
    }

    /// A directory in which most leads nowhere is rather an image's, or one whose targets are not mounted.
    fn refuse_if_doubtful(&mut self) {
        let Some(but) = self.doubt() else { return };
        let going = std::mem::take(&mut self.found.items).len();
        let what = format!("stays as it is: {going} names in it are superfluous here, but {but}");
        let remedy = match self.context.image {
            Some(_) => MEANT.to_owned(),
            None => format!("if it belongs to an image, name that: windlass prune --root DIR; {MEANT}"),
        };
        self.found.notes.push(Note::new(&self.directory.path, what, remedy));
        self.found.refused = true;
    }

    fn doubt(&self) -> Option<&'static str> {
        const EMPTY: &str = "no anchor would be left";
        let stays = |name: &&OsString| !self.leaving.contains(*name);
        let is_by_hash = |name: &&OsString| HashName::parse(name).is_some_and(|hash| !hash.is_crl);
        let by_hash: Vec<_> = self.all.keys().filter(is_by_hash).collect();
        if by_hash.is_empty() {
            // Nothing is found by its hash yet: `openssl rehash` may be still to come.
            let stays_some = self.all.keys().filter(stays).any(|name| is_candidate(name));
            return (!stays_some).then_some(EMPTY);
        }
        let nowhere = by_hash.iter().filter(|name| self.nowhere.contains(**name)).count();
        if nowhere == by_hash.len() || nowhere * 2 <= by_hash.len() {
            let is_anchor = |name: &OsString| self.certificate(name).is_none_or(|found| found.is_authority);
            return (!by_hash.into_iter().filter(stays).any(is_anchor)).then_some(EMPTY);
        }
        Some("most of its hash links lead nowhere")
    }

    /// Links before what they lead to, and in a row the last first: so no number that is planned changes before it is
    /// its turn.
    fn in_order(&mut self) {
        self.found.items.sort_by_key(|item| match HashName::parse(&item.name) {
            Some(hash) => (0, hash.hash, u32::MAX - hash.number, item.name.clone()),
            None => (if item.seen.target.is_some() { 1 } else { 2 }, 0, 0, item.name.clone()),
        });
    }
}

/// Whether `openssl rehash` would look at it (apps/rehash.c).
fn is_candidate(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|end| ["pem", "crt", "cer"].iter().any(|known| end == *known))
}
