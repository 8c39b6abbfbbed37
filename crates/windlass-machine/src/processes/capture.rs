//! The facts about a process that vanish with it, captured as quickly as possible.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::executables::{Executables, Known};
use super::libraries::{self, Linkage, TlsKind, TlsLibrary};
use super::maps::{self, Mapped};
use super::proc_files::{self, Stat};
use super::served::{Served, Signs};
use super::{ProcessFacts, Unseen};
use crate::loader::elf::Elf;
use crate::loader::preload_library::FILE_NAME;
use crate::regular;

/// The most TLS libraries reported for one process. A process can map any number of files, with any names.
const LIBRARIES: usize = 64;

/// Device and inode of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutableId(u32, u32, u64);

impl ExecutableId {
    /// The executable of a running process, even if its path names another file by now.
    pub fn of(pid: u32) -> Option<ExecutableId> {
        Self::at(CWD, &proc_files::path(pid, "exe"), AtFlags::empty())
    }

    fn of_file(file: &File) -> Option<ExecutableId> {
        Self::at(file, Path::new(""), AtFlags::EMPTY_PATH)
    }

    /// Uses only data that the kernel has cached: a file server cannot block this (statx(2)).
    fn at(directory: impl AsFd, path: &Path, flags: AtFlags) -> Option<ExecutableId> {
        let found = statx(directory, path, flags | AtFlags::STATX_DONT_SYNC, StatxFlags::INO).ok()?;
        Some(ExecutableId(found.stx_dev_major, found.stx_dev_minor, found.stx_ino))
    }
}

/// A process at one moment. It holds the executable open, which can thus be read after the process has ended.
#[derive(Debug)]
pub struct Capture {
    pid: u32,
    stat: Stat,
    uid: Option<u32>,
    exe: Option<PathBuf>,
    exe_id: Option<ExecutableId>,
    executable: Option<File>,
    arguments: Vec<String>,
    mapped: Result<Vec<Mapped>, Unseen>,
    secure: Option<bool>,
    disabled: bool,
}

impl Capture {
    /// Captures a process; `None` if there is none with this number.
    pub fn of(pid: u32) -> Option<Capture> {
        let stat = Stat::read(pid)?;
        let mapped = maps::files(pid).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Unseen::Forbidden,
            _ => Unseen::Gone,
        });
        let mut capture = Capture {
            pid,
            uid: proc_files::uid(pid),
            exe: executable(pid),
            exe_id: ExecutableId::of(pid),
            executable: regular::open(&proc_files::path(pid, "exe")).ok(),
            arguments: proc_files::arguments(pid),
            mapped,
            secure: proc_files::is_secure(pid),
            disabled: false,
            stat,
        };
        if capture.is_preloaded() {
            capture.disabled = proc_files::variable(pid, "WINDLASS_DISABLE").is_some_and(|value| value == b"1");
        }
        Some(capture)
    }

    /// Whether it is a kernel thread.
    pub fn is_kernel_thread(&self) -> bool {
        self.stat.is_kernel_thread
    }

    /// When the process started, in clock ticks since boot.
    pub fn start_time(&self) -> u64 {
        self.stat.start_time
    }

    /// Whether a TLS library is mapped. A library that is linked in is only known after the executable has been
    /// searched.
    pub fn has_tls_library(&self) -> bool {
        self.mapped.as_ref().is_ok_and(|mapped| mapped.iter().any(|file| libraries::by_name(file.name()).is_some()))
    }

    /// The path of its executable.
    pub fn exe(&self) -> Option<&Path> {
        self.exe.as_deref()
    }

    /// Closes the executable. From then on it is found by its path, if that still names the same file.
    pub fn let_go(&mut self) {
        self.executable = None;
    }

    /// All facts about the process, including a search of the executable and the libraries.
    pub fn facts(&self, executables: &mut Executables) -> ProcessFacts {
        // Opened by its path, but only if it is still the same file.
        let is_it = |file: &File| self.exe_id.is_some() && ExecutableId::of_file(file) == self.exe_id;
        let by_path = || regular::open(self.exe.as_deref()?).ok().filter(is_it);
        let executable = match &self.executable {
            Some(file) => executables.of(file),
            None => by_path().map(|file| executables.of(&file)).unwrap_or_default(),
        };
        let windlass = match &self.mapped {
            Err(unseen) => (Vec::new(), Served::Unknown(unseen.clone())),
            // A process that is ending has no memory left; no running process is without memory.
            Ok(mapped) if mapped.is_empty() => (Vec::new(), Served::Unknown(Unseen::Gone)),
            Ok(mapped) => {
                let (libraries, is_cut) = self.libraries(mapped, &executable, executables);
                let served = Served::decide(&libraries, self.signs(mapped, executable.elf.as_ref()));
                match is_cut && libraries.is_empty() {
                    true => (libraries, Served::Unknown(Unseen::Unread)),
                    false => (libraries, served),
                }
            }
        };
        let (libraries, windlass) = windlass;
        let command = if self.arguments.is_empty() { vec![self.stat.comm.clone()] } else { self.arguments.clone() };
        let uid = self.uid.unwrap_or(u32::MAX);
        let start_time = self.stat.start_time;
        ProcessFacts { pid: self.pid, start_time, uid, exe: self.exe.clone(), command, libraries, windlass }
    }

    fn is_preloaded(&self) -> bool {
        self.mapped.as_ref().is_ok_and(|mapped| mapped.iter().any(|file| file.name() == FILE_NAME.as_bytes()))
    }

    fn signs(&self, mapped: &[Mapped], elf: Option<&Elf>) -> Signs {
        let is_musl = |loader: &std::ffi::OsStr| {
            Path::new(loader).file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-musl"))
        };
        let own = own_elf();
        Signs {
            preloaded: self.is_preloaded(),
            disabled: self.disabled,
            reads_itself: mapped.iter().any(|file| libraries::is_dotnet_shim(file.name())),
            secure: self.secure,
            has_loader: elf.map(|elf| elf.interpreter.is_some()),
            is_musl: elf.and_then(|elf| elf.interpreter.as_deref()).is_some_and(is_musl),
            same_machine: elf.zip(own).map(|(elf, own)| elf.machine == own.machine),
        }
    }

    /// The flag says whether there may be more, because a file was not searched.
    fn libraries(
        &self,
        mapped: &[Mapped],
        executable: &Known,
        executables: &mut Executables,
    ) -> (Vec<TlsLibrary>, bool) {
        let mut found = Vec::new();
        let mut is_cut = executable.is_cut;
        let has_libssl = mapped.iter().any(|file| libraries::is_libssl(file.name()));
        for file in mapped {
            if found.len() >= LIBRARIES {
                is_cut = true;
                break;
            }
            if let Some(kind) = libraries::by_name(file.name()) {
                let known = self.known(file, executables);
                let (kind, version) = match kind {
                    TlsKind::Openssl if known.code.libressl.is_some() => (TlsKind::Libressl, known.code.libressl),
                    TlsKind::Openssl => (kind, known.code.openssl),
                    TlsKind::Gnutls => (kind, known.code.gnutls),
                    TlsKind::Nss => (kind, known.code.nss),
                    TlsKind::Mbedtls => (kind, known.code.mbedtls),
                    kind => (kind, None),
                };
                let whole = has_libssl || !matches!(kind, TlsKind::Openssl | TlsKind::Libressl);
                found.push(TlsLibrary { kind, version, linkage: Linkage::Dynamic, path: file.path.clone(), whole });
            } else if libraries::may_carry(file.name()) {
                let known = self.known(file, executables);
                is_cut |= known.is_cut;
                found.extend(linked_in(&known, &file.path));
            }
        }
        found.extend(linked_in(executable, self.exe.as_deref().unwrap_or(Path::new(""))));
        // Libraries that can be served come first: the process most likely uses those.
        found.sort_by_key(|library| (library.linkage, !library.whole, library.kind));
        found.dedup_by(|one, other| (one.kind, &one.path) == (other.kind, &other.path));
        (found, is_cut)
    }

    /// The content of a mapped file. It is looked up in this process's root first, because the other process may have
    /// ended.
    fn known(&self, mapped: &Mapped, executables: &mut Executables) -> Known {
        let in_its_root = || {
            let path = mapped.path.strip_prefix("/").ok()?;
            Some(proc_files::path(self.pid, "root").join(path))
        };
        if executables.is_spent() {
            return Known { is_cut: true, ..Known::default() };
        }
        // The device is not compared: Btrfs and overlayfs show different ones in maps and in stat(2).
        let is_it = |file: &File| file.metadata().is_ok_and(|metadata| metadata.ino() == mapped.inode);
        let file = regular::open(&mapped.path).ok().filter(&is_it);
        let file = file.or_else(|| regular::open(&in_its_root()?).ok().filter(is_it));
        file.map(|file| executables.of(&file)).unwrap_or_default()
    }
}

fn linked_in(known: &Known, path: &Path) -> Vec<TlsLibrary> {
    let linked_in = known.code.linked_in().into_iter();
    let library =
        |(kind, version)| TlsLibrary { kind, version, linkage: Linkage::Static, path: path.to_path_buf(), whole: true };
    // libcrypto itself holds the same texts, when it is run as a program or `path` names it.
    linked_in
        .map(library)
        .filter(|_| path.file_name().is_none_or(|name| libraries::by_name(name.as_bytes()).is_none()))
        .collect()
}

/// The executable's path, without the kernel's suffix for removed files.
pub fn executable(pid: u32) -> Option<PathBuf> {
    let path = std::fs::read_link(proc_files::path(pid, "exe")).ok()?;
    let plain = path.as_os_str().as_bytes().strip_suffix(b" (deleted)").map(std::ffi::OsStr::from_bytes);
    Some(plain.map_or_else(|| path.clone(), PathBuf::from))
}

fn own_elf() -> Option<&'static Elf> {
    static OWN: OnceLock<Option<Elf>> = OnceLock::new();
    OWN.get_or_init(|| Elf::read(Path::new("/proc/self/exe")).ok().flatten()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_known() {
        let own = std::process::id();
        let capture = Capture::of(own).unwrap();
        assert_eq!(capture.exe(), std::env::current_exe().ok().as_deref());
        let facts = capture.facts(&mut Executables::default());
        assert_eq!((facts.pid, facts.uid), (own, rustix::process::geteuid().as_raw()));
        assert_eq!(facts.start_time, capture.start_time());
        assert!(!capture.is_kernel_thread() && !facts.command.is_empty());
    }

    #[test]
    fn an_executable_is_known_by_more_than_its_path() {
        let mut capture = Capture::of(std::process::id()).unwrap();
        assert_eq!(capture.exe_id, ExecutableId::of_file(&File::open("/proc/self/exe").unwrap()));
        let directory = tempfile::tempdir().unwrap();
        let other = directory.path().join("program");
        std::fs::write(&other, "/rustls-0.1.2/").unwrap();
        capture.let_go();
        capture.mapped = Ok(vec![Mapped { path: other.clone(), inode: 1 }]);
        let is_rustls = |capture: &Capture| {
            capture.facts(&mut Executables::default()).libraries.iter().any(|library| library.kind == TlsKind::Rustls)
        };
        capture.exe = Some(other.clone());
        assert!(!is_rustls(&capture));
        capture.exe_id = ExecutableId::of_file(&File::open(&other).unwrap());
        assert!(is_rustls(&capture));
    }

    #[test]
    fn a_process_that_is_not_there_is_none() {
        // Larger than any number the kernel gives (PID_MAX_LIMIT, 2^22).
        assert!(Capture::of(1 << 23).is_none());
        assert!(crate::processes::identity(1 << 23).is_none());
    }
}
