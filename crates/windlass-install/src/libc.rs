//! Whether the programs of a root can load a library, judged by the files alone: nothing is run, and the check works
//! for every image and every user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_machine::Failure;
use windlass_machine::loader::elf::{Elf, Machine};
use windlass_machine::loader::linkage::Linkage;
use windlass_machine::loader::preload_library::MULTIARCH;
use windlass_machine::processes::maps;

use super::destination::{Destination, Last};
use super::machine::OTHER_LOADERS;

const LIBC: &str = "libc.so.6";

/// Fails if the dynamic linker of the place would not load the library that this process opens at `library`. If symbol
/// versions are missing, a library named in LD_PRELOAD or /etc/ld.so.preload keeps *every* program from starting.
pub fn check(destination: &Destination, library: &Path) -> Result<(), Failure> {
    let refuse = |why: String| Failure::other(format!("can't use the library {}", library.display()), why);
    let unreadable = |error: std::io::Error| Failure::other(format!("can't read {}", library.display()), error);
    let (elf, linkage) = (Elf::read(library).map_err(unreadable)?, Linkage::read(library).map_err(unreadable)?);
    let (Some(elf), Some(linkage)) = (elf, linkage) else {
        return Err(refuse("not a valid ELF library".into()));
    };
    let directories = directories(destination);
    // No program starts without libc, and therefore it is always checked.
    let objects: BTreeSet<&str> = linkage.objects.iter().map(String::as_str).chain([LIBC]).collect();
    for object in objects {
        let (path, has) = find(destination, &directories, object, elf.machine).map_err(|others| {
            match (others, musl(destination)) {
                (Some((path, machine)), _) => {
                    refuse(format!("it is for {}, but {} is for {machine}", elf.machine, destination.shown(&path)))
                        .advise("use the Windlass that is built for that architecture")
                }
                (None, Some(loader)) => {
                    refuse(format!("it is for glibc, and the C library there is musl ({})", destination.shown(&loader)))
                        .advise("programs of musl can't be served; there is nothing to install for them")
                }
                (None, None) => {
                    let looked: Vec<_> = directories.iter().map(|directory| directory.display().to_string()).collect();
                    let root = destination.root().display();
                    refuse(format!(
                        "it needs {object}, which is not in the root {root} (looked in {})",
                        looked.join(", ")
                    ))
                    .advise("install the C library first: programs that need Windlass need it as well")
                }
            }
        })?;
        let missing: BTreeSet<_> = linkage
            .needs
            .iter()
            .filter(|(of, version)| of == object && !has.contains(version))
            .map(|(_, version)| version.clone())
            .collect();
        if let Some(version) = newest(&missing).or(missing.first().map(String::as_str)) {
            let newest = newest(&has).map(|newest| format!(", whose newest is {newest}")).unwrap_or_default();
            let shown = destination.shown(&path);
            return Err(refuse(format!("it needs {version} of {object}, and {shown} has none{newest}")).advise(
                "no program would start with it. The libraries of a release, and of `make build`, need glibc \
                         2.17 or newer",
            ));
        }
    }
    Ok(())
}

/// Notes about programs of the place that would not start, or would print errors, with a library that every child
/// inherits. Known from trials: docs/install.md, "Programs that it is not for".
pub fn notes(destination: &Destination, is_machine: bool) -> Vec<String> {
    let mut notes = Vec::new();
    // musl's loader reads no list; a machine with a second architecture gets no activation for the machine.
    if let (false, Some(loader)) = (is_machine, musl(destination)) {
        notes.push(format!(
            "{} exists: a musl program that inherits LD_PRELOAD does not start; start it with `env -u LD_PRELOAD`",
            loader.display()
        ));
    }
    let other = OTHER_LOADERS.iter().find(|path| !is_machine && destination.exists(path));
    notes.extend(other.map(|loader| {
        format!(
            "{loader} exists: a program of that architecture that inherits LD_PRELOAD prints a loader error and \
                 runs without the library"
        )
    }));
    let is_asan =
        |entry: std::fs::DirEntry| entry.file_name().to_str().is_some_and(|name| name.starts_with("libasan.so."));
    let sanitizer = directories(destination).into_iter().find(|directory| {
        let entries = destination.real(directory, Last::Followed).ok().and_then(|real| std::fs::read_dir(real).ok());
        entries.into_iter().flatten().flatten().any(is_asan)
    });
    notes.extend(sanitizer.map(|directory| {
        format!(
            "libasan is installed ({}): a program built with AddressSanitizer (gcc -fsanitize=address) needs libasan \
             to be the first library, and exits \
             at once; start it with ASAN_OPTIONS=verify_asan_link_order=0",
            directory.display()
        )
    }));
    notes
}

/// The first musl loader found.
fn musl(destination: &Destination) -> Option<PathBuf> {
    let entries =
        destination.real(Path::new("/lib"), Last::Followed).ok().and_then(|real| std::fs::read_dir(real).ok());
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<_> = names.filter(|name| name.starts_with("ld-musl-") && name.ends_with(".so.1")).collect();
    found.sort();
    found.first().map(|name| Path::new("/lib").join(name))
}

/// The directories that hold glibc. On this machine, also the directory that this program's own glibc came from.
fn directories(destination: &Destination) -> Vec<PathBuf> {
    let mut all = Vec::new();
    if destination.is_machine() {
        let mapped = maps::files(std::process::id()).unwrap_or_default();
        let libc = mapped.into_iter().find(|file| file.name() == LIBC.as_bytes());
        all.extend(libc.and_then(|file| file.path.parent().map(Path::to_owned)));
    }
    let usual = [format!("/lib/{MULTIARCH}"), format!("/usr/lib/{MULTIARCH}")].map(PathBuf::from);
    all.extend(usual.into_iter().chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from)));
    all
}

/// The path of an object, and the symbol versions that it defines.
type Found = (PathBuf, BTreeSet<String>);
type OfOtherMachine = (PathBuf, Machine);

/// An object of this name and machine type, with its symbol versions. Failing that, one of another machine type.
fn find(
    destination: &Destination,
    directories: &[PathBuf],
    object: &str,
    machine: Machine,
) -> Result<Found, Option<OfOtherMachine>> {
    let mut other = None;
    for path in directories.iter().map(|directory| directory.join(object)) {
        let Ok(real) = destination.real(&path, Last::Followed) else { continue };
        let Ok(Some(elf)) = Elf::read(&real) else { continue };
        if elf.machine != machine {
            other = other.or(Some((path, elf.machine)));
            continue;
        }
        if let Ok(Some(linkage)) = Linkage::read(&real) {
            return Ok((path, linkage.has));
        }
    }
    Err(other)
}

/// The newest `GLIBC_*` version in the set, such as `GLIBC_2.36`.
fn newest(has: &BTreeSet<String>) -> Option<&str> {
    let number = |name: &str| -> Option<Vec<u32>> {
        name.strip_prefix("GLIBC_")?.split('.').map(|part| part.parse().ok()).collect()
    };
    has.iter().filter_map(|name| Some((number(name)?, &**name))).max().map(|(_, name)| name)
}
