//! Whether the preload library can get into a program, judged before it is started.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::elf::{Elf, Machine};
use super::preload_library::Library;

/// Scripts may be interpreted by scripts, to this depth (execve(2), "Interpreter scripts").
const MAX_INTERPRETERS: usize = 5;

/// Whether the loader will load the library into a program, and if not, why.
#[derive(Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing prevents it.
    Dynamic,
    /// The program has no dynamic loader.
    Static,
    /// The loader ignores libraries in the environment of this program (secure execution, ld.so(8)).
    Secure(&'static str),
    /// The program's instruction set differs from the library's.
    OtherMachine(Machine),
    /// The program's loader belongs to another C library.
    OtherLibc(OsString),
}

impl Reach {
    /// Judges the program at `path`, or the interpreter of a script.
    pub fn of(path: &Path, library: &Library) -> Reach {
        let own = Elf::read(Path::new("/proc/self/exe")).ok().flatten().and_then(|own| own.interpreter);
        let path = interpreter_of(path);
        // A file that can't be read or is not ELF is left to the kernel (binfmt_misc(5)): nothing is known against it.
        let Ok(Some(elf)) = Elf::read(&path) else {
            return Reach::Dynamic;
        };
        if elf.machine != library.elf.machine {
            return Reach::OtherMachine(elf.machine);
        }
        let Some(interpreter) = elf.interpreter else {
            return Reach::Static;
        };
        if own.is_some_and(|own| !is_same_libc(&own, &interpreter)) {
            return Reach::OtherLibc(interpreter);
        }
        privilege_of(&path).map_or(Reach::Dynamic, Reach::Secure)
    }

    /// Whether LD_PRELOAD may name the library. A loader of another architecture would print an error line in every
    /// program; musl's ends the program when it is given a library for glibc.
    pub fn may_preload(&self) -> bool {
        !matches!(self, Reach::OtherMachine(_) | Reach::OtherLibc(_))
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::Dynamic => f.write_str("nothing known"),
            Reach::Static => f.write_str("the program is statically linked, so no library can be preloaded"),
            Reach::Secure(how) => write!(f, "the program {how}, so the loader ignores LD_PRELOAD"),
            Reach::OtherMachine(machine) => {
                write!(f, "the program is {machine}, which the library is not")
            }
            Reach::OtherLibc(loader) => {
                write!(f, "the program uses another C library (loader {})", loader.to_string_lossy())
            }
        }
    }
}

/// The program that the kernel loads for `path`: itself, or the interpreter of a script.
pub fn interpreter_of(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_INTERPRETERS {
        let mut start = Vec::new();
        // The kernel reads 256 bytes (BINPRM_BUF_SIZE).
        if File::open(&path).and_then(|file| file.take(256).read_to_end(&mut start)).is_err() {
            break;
        }
        let Some(line) = start.strip_prefix(b"#!") else {
            break;
        };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
        let Some(name) = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty()) else {
            break;
        };
        path = PathBuf::from(OsStr::from_bytes(name));
    }
    path
}

/// glibc's loaders are called ld-linux*.so.N (ld64.so.N on some machines), musl's ld-musl-*.so.1, wherever they are.
fn is_same_libc(one: &OsStr, other: &OsStr) -> bool {
    let is_musl =
        |path: &OsStr| Path::new(path).file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl"));
    is_musl(one) == is_musl(other)
}

fn privilege_of(path: &Path) -> Option<&'static str> {
    const SETUID: u32 = 0o4000;
    const SETGID: u32 = 0o2000;
    let metadata = path.metadata().ok()?;
    // Secure execution begins where the effective identity would differ from the real one.
    if metadata.mode() & SETUID != 0 && metadata.uid() != rustix::process::getuid().as_raw() {
        return Some("is setuid");
    }
    if metadata.mode() & SETGID != 0 && metadata.gid() != rustix::process::getgid().as_raw() {
        return Some("is setgid");
    }
    let is_root = rustix::process::getuid().is_root();
    let mut buffer = [0; 64];
    let capabilities = rustix::fs::getxattr(path, "security.capability", &mut buffer).is_ok();
    (capabilities && !is_root).then_some("has file capabilities")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test program, as a library that fits itself.
    fn library() -> Library {
        let path = PathBuf::from("/proc/self/exe");
        let elf = Elf::read(&path).unwrap().unwrap();
        Library { path, elf }
    }

    /// The result for a copy of this program's headers, changed by `change`.
    fn reach(change: impl Fn(&mut [u8])) -> Reach {
        let mut elf = std::fs::read("/proc/self/exe").unwrap();
        elf.truncate(8192);
        change(&mut elf);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), elf).unwrap();
        Reach::of(file.path(), &library())
    }

    #[test]
    fn a_program_like_this_one_is_reached() {
        assert_eq!(reach(|_| {}), Reach::Dynamic);
        assert!(Reach::Dynamic.may_preload());
    }

    #[test]
    fn another_machine_is_not() {
        let reach = reach(|elf| elf[18..20].copy_from_slice(&[22, 0]));
        assert!(matches!(reach, Reach::OtherMachine(machine) if machine.to_string() == "64-bit s390"));
        assert!(!reach.may_preload());
    }

    #[test]
    fn a_program_without_a_loader_is_not() {
        // The program headers follow the ELF header; PT_INTERP (3) becomes PT_NULL.
        let reach = reach(|elf| {
            for header in elf[64..].chunks_mut(56).take(20).filter(|header| header[..4] == [3, 0, 0, 0]) {
                header[0] = 0;
            }
        });
        assert_eq!(reach, Reach::Static);
        // LD_PRELOAD may still reach the programs that it starts.
        assert!(reach.may_preload());
    }

    #[test]
    fn a_script_is_judged_by_its_interpreter() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for line in ["#!/bin/sh", "#! /bin/sh -e", "#!\t/bin/sh\targument\nrest"] {
            std::fs::write(file.path(), line).unwrap();
            assert_eq!(interpreter_of(file.path()), Path::new("/bin/sh"), "{line}");
        }
    }

    #[test]
    fn scripts_that_name_each_other_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("#!{}\n", file.path().display())).unwrap();
        assert_eq!(interpreter_of(file.path()), file.path());
    }
}
