//! Finding the preload library, or the library of `windlass trace`, and checking that the loader will accept it.
//!
//! For a library in LD_PRELOAD that is missing or of another architecture, the loader prints an error line in *every*
//! program. The library is therefore checked here once, before anything runs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf::Elf;
use crate::failure::{Failure, FailureKind};

/// The file name of the preload library.
pub const FILE_NAME: &str = "libwindlass_preload.so";
/// The file name of the tracing library.
pub const TRACE_FILE_NAME: &str = "libwindlass_trace.so";
/// Debian's name of the library directory for this architecture (multiarch).
pub const MULTIARCH: &str = if cfg!(target_arch = "x86_64") {
    "x86_64-linux-gnu"
} else if cfg!(target_arch = "aarch64") {
    "aarch64-linux-gnu"
} else {
    ""
};

/// A library that programs can be started with.
#[derive(Debug)]
pub struct Wanted {
    file_name: &'static str,
    /// The variable that can name another file.
    variable: &'static str,
    what: &'static str,
}

/// Shares root stores.
pub const PRELOAD: Wanted =
    Wanted { file_name: FILE_NAME, variable: "WINDLASS_PRELOAD_LIBRARY", what: "preload library" };
/// Records what is loaded.
pub const TRACE: Wanted =
    Wanted { file_name: TRACE_FILE_NAME, variable: "WINDLASS_TRACE_LIBRARY", what: "tracing library" };

/// A library for LD_PRELOAD: an absolute path that LD_PRELOAD can carry, and its headers.
#[derive(Debug)]
pub struct Library {
    /// The absolute path.
    pub path: PathBuf,
    /// Its headers.
    pub elf: Elf,
}

impl Library {
    /// Finds the preload library.
    pub fn find() -> Result<Library, Failure> {
        Self::find_wanted(&PRELOAD)
    }

    /// Finds the library that the variable names. If it is unset, tries the directory of this executable, then
    /// `../lib/windlass` from there, then `../lib/MULTIARCH/windlass`.
    pub fn find_wanted(wanted: &Wanted) -> Result<Library, Failure> {
        let Wanted { variable, what, .. } = wanted;
        if let Some(named) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
            return Self::named(wanted, named);
        }
        let executable = std::env::current_exe().map_err(|error| {
            failure(format!("can't find this executable, beside which the {what} is looked for"), error)
        })?;
        let candidates = candidates(&executable, wanted.file_name);
        match candidates.iter().find(|path| path.is_file()) {
            Some(path) => Self::check(wanted, path.clone()),
            None => {
                let tried: Vec<_> = candidates.iter().map(|path| format!("\n    {}", path.display())).collect();
                let why = format!("none of these is a file:{}", tried.concat());
                Err(failure(format!("the {what} was not found"), why).advise(format!(
                    "build it (`make build`), install it at one of these paths, or set {variable} to its path"
                )))
            }
        }
    }

    fn named(wanted: &Wanted, named: OsString) -> Result<Library, Failure> {
        let path = std::path::absolute(&named).map_err(|error| failure(named.to_string_lossy(), error))?;
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => Self::check(wanted, path),
            Ok(_) => Err(failure(path.display().to_string(), "not a file").advise(wanted.set_or_unset())),
            Err(error) => {
                let what = format!("{} {}", wanted.what, path.display());
                Err(failure(what, error).advise(wanted.set_or_unset()))
            }
        }
    }

    fn check(wanted: &Wanted, path: PathBuf) -> Result<Library, Failure> {
        let what = format!("{} {}", wanted.what, path.display());
        if let Some(byte) = path.as_os_str().as_bytes().iter().find(|byte| b": $".contains(byte)) {
            let why = format!("the path holds {:?}, which LD_PRELOAD can't carry (ld.so(8))", char::from(*byte));
            return Err(failure(what, why).advise(format!(
                "install Windlass under another path, or set {} to a copy or link elsewhere",
                wanted.variable
            )));
        }
        let elf = Elf::read(&path).map_err(|error| failure(&what, error))?;
        let Some(elf) = elf.filter(|elf| elf.is_shared_object) else {
            return Err(failure(what, "not an ELF shared object").advise(wanted.set_or_unset()));
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

impl Wanted {
    fn set_or_unset(&self) -> String {
        let Wanted { file_name, variable, .. } = self;
        format!("set {variable} to the path of {file_name}, or unset it to use the one installed with windlass")
    }
}

fn candidates(executable: &Path, file_name: &str) -> Vec<PathBuf> {
    let directory = executable.parent().unwrap_or(Path::new("/"));
    let mut candidates = vec![directory.join(file_name)];
    if let Some(prefix) = directory.parent() {
        candidates.push(prefix.join("lib/windlass").join(file_name));
        // The same directory again where there is no multiarch name.
        candidates.push(prefix.join("lib").join(MULTIARCH).join("windlass").join(file_name));
    }
    candidates
}

fn failure(what: impl Into<String>, why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::RunFailed, what, why)
}
