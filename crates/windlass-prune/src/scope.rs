//! The directories that a prune searches.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass::Timestamp;
use windlass_journal::Directory;
use windlass_machine::places::known_paths::DEBIAN_SOURCES;
use windlass_machine::places::{self, Place, PlaceKind};
use windlass_machine::{Failure, FailureKind, without_number};

use super::context::{Context, Spent};
use super::image::Image;
use super::packages::Packages;
use super::plan::{Found, Kind, Note, Plan, Store};
use super::{dotnet, hashed};

/// The options of a prune.
#[derive(Debug, Default)]
pub struct Wanted<'a> {
    /// Directories to search; if empty, the .NET stores below the homes and the default hashed directories.
    pub named: &'a [PathBuf],
    /// Home directories, as programs know them.
    pub homes: &'a [PathBuf],
    /// Remove valid test certificates too.
    pub tests: bool,
    /// Remove even the last anchors of a hashed directory, or most of its files.
    pub force: bool,
    /// The image that all these paths are in; None for this machine.
    pub image: Option<&'a Image>,
}

/// Plans a prune. Removes nothing.
pub fn plan(wanted: &Wanted<'_>, now: Timestamp) -> Result<Plan, Failure> {
    let Wanted { named, homes, tests, force, image } = *wanted;
    let mut plan = Plan::default();
    let chosen = if named.is_empty() { usual(homes, image, &mut plan) } else { of_paths(named, image)? };
    let inside = |path: &PathBuf| image.map_or_else(|| path.clone(), |image| image.inside(path));
    let directories: Vec<_> = chosen.iter().map(|(path, _)| inside(path)).collect();
    let packages = Packages::read(image.map_or(Path::new("/"), Image::root), &directories, image);
    let (sources, spent) = (DEBIAN_SOURCES.map(Path::new), Spent::default());
    let context = Context { now, tests, force, image, packages: &packages, sources, spent };
    for (path, kind) in &chosen {
        plan.add(path, *kind, &context);
    }
    Ok(plan)
}

impl Plan {
    /// Adds the items to remove from a directory. `path` holds no links.
    pub fn add(&mut self, path: &Path, kind: Kind, context: &Context<'_>) {
        let looked = Directory::open(path).and_then(|directory| {
            let found = match kind {
                Kind::DotnetStore if !context.spent.admits(&directory, &mut self.notes)? => return Ok(None),
                Kind::DotnetStore => dotnet::look(&directory, context)?,
                Kind::HashedDirectory => hashed::look(&directory, context)?,
            };
            Ok(Some((directory.inode()?, found)))
        });
        match looked {
            Ok(None) => {}
            Ok(Some((inode, found))) => {
                self.notes.extend(found.notes);
                let Found { items, kept, namesakes, refused, .. } = found;
                self.stores.push(Store { path: path.to_owned(), kind, items, kept, namesakes, refused, inode });
            }
            Err(error) => {
                self.notes.push(Note::new(path, format!("can't be examined: {}", without_number(&error)), ""))
            }
        }
    }
}

/// A path without links, by which this process reaches `path`.
fn real(path: &Path, image: Option<&Image>) -> std::io::Result<PathBuf> {
    image.map_or_else(|| path.canonicalize(), |image| image.reach(path))
}

fn of_paths(named: &[PathBuf], image: Option<&Image>) -> Result<Vec<(PathBuf, Kind)>, Failure> {
    let mut chosen: Vec<(PathBuf, Kind)> = Vec::new();
    for path in named {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(FailureKind::SourceUnreadable, format!("can't use {}", path.display()), why)
        };
        let real = real(path, image).map_err(|error| match image {
            None => failed(&error),
            Some(image) => failed(&error).advise(format!("with --root it is a path in {}", image.root().display())),
        })?;
        if !real.is_dir() {
            return Err(failed(&"not a directory")
                .advise("name a store of .NET, or a directory of files named by subject hash"));
        }
        for found in below(&real) {
            if !chosen.contains(&found) {
                chosen.push(found);
            }
        }
    }
    Ok(chosen)
}

/// A directory of .NET stores stands for all of them; any other directory is one store.
fn below(real: &Path) -> Vec<(PathBuf, Kind)> {
    if real.file_name().is_some_and(|name| name == "x509stores") {
        let names = Directory::open(real).and_then(|directory| directory.names()).unwrap_or_default();
        let stores = names.into_iter().map(|name| real.join(name));
        let is_plain = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        return stores.filter(is_plain).map(|path| (path, Kind::DotnetStore)).collect();
    }
    vec![(real.to_owned(), kind(real))]
}

/// The kind of a directory, by its location or by its files.
fn kind(real: &Path) -> Kind {
    let is_below_stores = real.parent().and_then(Path::file_name).is_some_and(|name| name == "x509stores");
    let has_pfx = || {
        let names = Directory::open(real).and_then(|directory| directory.names()).unwrap_or_default();
        names.iter().any(|name| Path::new(name).extension().is_some_and(|extension| extension == "pfx"))
    };
    if is_below_stores || has_pfx() { Kind::DotnetStore } else { Kind::HashedDirectory }
}

fn usual(homes: &[PathBuf], image: Option<&Image>, plan: &mut Plan) -> Vec<(PathBuf, Kind)> {
    let (mut chosen, mut known) = (Vec::new(), BTreeSet::new());
    for Place { path, kind, .. } in places::known(image.map_or(Path::new("/"), Image::root), homes) {
        let kind = match kind {
            PlaceKind::DotnetStore => Kind::DotnetStore,
            // Only root may change the machine's directories.
            PlaceKind::Capath if image.is_some() || rustix::process::geteuid().is_root() => Kind::HashedDirectory,
            _ => continue,
        };
        let Some(found) = real(&path, image).ok().filter(|found| found.is_dir()) else { continue };
        let home = homes.iter().find(|home| path.starts_with(home));
        if kind == Kind::DotnetStore
            && home.is_some_and(|home| !real(home, image).is_ok_and(|home| is_of(&home, &found)))
        {
            let what = "leads out of its home, or belongs to somebody else, and is left alone";
            plan.notes.push(Note::new(&path, what, "name it, if you mean it"));
        } else if known.insert(found.clone()) {
            chosen.push((found, kind));
        }
    }
    chosen
}

/// Whether a store in a home (both without links) is really below it, and owned by the home's owner. A link could lead
/// root to files that this user may not touch.
fn is_of(home: &Path, real: &Path) -> bool {
    let owner = |path: &Path| path.symlink_metadata().map(|metadata| metadata.uid()).ok();
    real.starts_with(home) && owner(home).is_some() && owner(home) == owner(real)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_store_that_leads_out_of_its_home_is_not_its_owners() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().canonicalize().unwrap().join(name);
        for name in ["a/x509stores/root", "b/x509stores/root"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        symlink(path("b/x509stores/root"), path("a/x509stores/my")).unwrap();
        let is = |home: &str, store: &str| is_of(&path(home), &path(store).canonicalize().unwrap());
        assert!(is("a", "a/x509stores/root") && !is("a", "a/x509stores/my"));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(path("a/x509stores/root"), Some(65534), None).unwrap();
            assert!(!is("a", "a/x509stores/root"), "somebody else's");
        }
    }

    #[test]
    fn what_a_path_stands_for() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().canonicalize().unwrap().join(name);
        for name in ["x509stores/my", "x509stores/root", "certs", "other"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("other/A.pfx"), "").unwrap();
        symlink(path("certs"), path("x509stores/link")).unwrap();
        let named = ["x509stores", "x509stores/my", "certs", "other"].map(path);
        let chosen = of_paths(&named, None).unwrap();
        let expected = [
            (path("x509stores/my"), Kind::DotnetStore),
            (path("x509stores/root"), Kind::DotnetStore),
            (path("certs"), Kind::HashedDirectory),
            (path("other"), Kind::DotnetStore),
        ];
        assert_eq!(chosen, expected);
    }
}
