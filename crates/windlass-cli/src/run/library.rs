//! Finding the preload library, and making sure that the loader will take it.
//!
//! The loader prints an error line in *every* program for a library in LD_PRELOAD that is missing or of another
//! architecture. So it is checked here, once, before anything runs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf::Elf;
use crate::exit::Exit;
use crate::failure::Failure;

/// The library's file name.
pub const FILE_NAME: &str = "libwindlass_preload.so";
/// Debian's name for the directory of libraries of this architecture (multiarch).
pub const MULTIARCH: &str = if cfg!(target_arch = "x86_64") {
    "x86_64-linux-gnu"
} else if cfg!(target_arch = "aarch64") {
    "aarch64-linux-gnu"
} else {
    ""
};
const VARIABLE: &str = "WINDLASS_PRELOAD_LIBRARY";

/// The preload library: an absolute path that LD_PRELOAD can carry, and what its headers say.
#[derive(Debug)]
pub struct Library {
    /// Where it is.
    pub path: PathBuf,
    /// Its headers.
    pub elf: Elf,
}

impl Library {
    /// The library that WINDLASS_PRELOAD_LIBRARY names, else the one beside this executable, else the one in
    /// `../lib/windlass` from there, else the one in `../lib/MULTIARCH/windlass`.
    pub fn find() -> Result<Library, Failure> {
        if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            return Self::named(named);
        }
        let executable = std::env::current_exe().map_err(|error| {
            failure("can't find this executable, beside which the preload library is looked for", error)
        })?;
        let candidates = candidates(&executable);
        match candidates.iter().find(|path| path.is_file()) {
            Some(path) => Self::check(path.clone()),
            None => {
                let tried: Vec<_> = candidates.iter().map(|path| format!("\n    {}", path.display())).collect();
                Err(failure("the preload library was not found", format!("none of these is a file:{}", tried.concat()))
                    .advise(format!(
                        "build it (`make`), install it at one of these paths, or set {VARIABLE} to its path"
                    )))
            }
        }
    }

    fn named(named: OsString) -> Result<Library, Failure> {
        let path = std::path::absolute(&named).map_err(|error| failure(named.to_string_lossy(), error))?;
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => Self::check(path),
            Ok(_) => Err(failure(path.display().to_string(), "not a file").advise(set_or_unset())),
            Err(error) => Err(failure(format!("preload library {}", path.display()), error).advise(set_or_unset())),
        }
    }

    fn check(path: PathBuf) -> Result<Library, Failure> {
        let what = format!("preload library {}", path.display());
        if let Some(byte) = path.as_os_str().as_bytes().iter().find(|byte| b": $".contains(byte)) {
            let why = format!("the path holds {:?}, which LD_PRELOAD can't carry (ld.so(8))", char::from(*byte));
            return Err(failure(what, why).advise(format!(
                "install Windlass under another path, or set {VARIABLE} to a copy or link elsewhere"
            )));
        }
        let elf = Elf::read(&path).map_err(|error| failure(&what, error))?;
        let Some(elf) = elf.filter(|elf| elf.is_shared_object) else {
            return Err(failure(what, "not an ELF shared object").advise(set_or_unset()));
        };
        let own = Elf::read(Path::new("/proc/self/exe")).ok().flatten();
        if let Some(own) = own.filter(|own| own.machine != elf.machine) {
            let why = format!("built for {}, but this windlass is {}", elf.machine, own.machine);
            return Err(failure(what, why).advise(
                "use a library and a command from the same build; programs of another architecture can't be reached",
            ));
        }
        Ok(Library { path, elf })
    }
}

fn candidates(executable: &Path) -> Vec<PathBuf> {
    let directory = executable.parent().unwrap_or(Path::new("/"));
    let mut candidates = vec![directory.join(FILE_NAME)];
    if let Some(prefix) = directory.parent() {
        candidates.push(prefix.join("lib/windlass").join(FILE_NAME));
        // The same directory once more where there is no such name.
        candidates.push(prefix.join("lib").join(MULTIARCH).join("windlass").join(FILE_NAME));
    }
    candidates
}

fn set_or_unset() -> String {
    format!("set {VARIABLE} to the path of {FILE_NAME}, or unset it to use the one installed with windlass")
}

fn failure(what: impl Into<String>, why: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::RunFailed, what, why)
}
