//! Starting the program: in place of this process, or as its child.

use std::convert::Infallible;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::unistd::execve;
use rustix::process::Pid;

use super::environment::Environment;

/// The shell to which execvp(3) gives a file that the kernel can't execute.
const SHELL: &CStr = c"/bin/sh";

/// A program with its arguments and environment, ready for execve(2).
#[derive(Debug)]
pub struct Invocation {
    path: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Invocation {
    /// `name` becomes the program's `argv[0]`, `path` is the file that is executed.
    pub fn new(path: &Path, name: &OsStr, arguments: &[OsString], environment: &Environment) -> io::Result<Invocation> {
        let c_string = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        let arguments = std::iter::once(name).chain(arguments.iter().map(OsString::as_os_str)).map(c_string);
        Ok(Invocation {
            path: c_string(path.as_os_str())?,
            arguments: arguments.collect::<io::Result<_>>()?,
            environment: environment.to_c(),
        })
    }

    /// Replaces this process. Returns only on an error.
    pub fn replace_process(&self) -> io::Error {
        let result =
            self.start(|path, arguments| -> nix::Result<Infallible> { execve(path, arguments, &self.environment) });
        match result {
            Ok(never) => match never {},
            Err(errno) => errno.into(),
        }
    }

    /// Starts a child whose signal mask is `mask`.
    pub fn spawn(&self, mask: &SigSet) -> io::Result<Pid> {
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK)?;
        attributes.set_sigmask(mask)?;
        let actions = PosixSpawnFileActions::init()?;
        let pid =
            self.start(|path, arguments| posix_spawn(path, &actions, &attributes, arguments, &self.environment))?;
        Pid::from_raw(pid.as_raw()).ok_or_else(|| io::Error::from(io::ErrorKind::Other))
    }

    /// Calls `start`, and on ENOEXEC calls it again with a shell for a file without `#!`, as execvp(3) does.
    fn start<T>(&self, start: impl Fn(&CStr, &[CString]) -> nix::Result<T>) -> nix::Result<T> {
        match start(&self.path, &self.arguments) {
            Err(Errno::ENOEXEC) => {
                let rest = self.arguments.iter().skip(1).cloned();
                let arguments: Vec<_> = [SHELL.to_owned(), self.path.clone()].into_iter().chain(rest).collect();
                start(SHELL, &arguments)
            }
            result => result,
        }
    }
}
