//! Trial runs of programs with the library, before anything is told to load it.
//!
//! The loader does not fail for a library that it can't load: every program prints an error line instead. The trial
//! therefore requires an empty standard error.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_machine::Failure;

use super::destination::Destination;

const PATIENCE: Duration = Duration::from_secs(20);

/// Starts programs of an image with the library, and without this process's environment.
const ENV: &str = "/usr/bin/env";

/// Programs that most machines have: one is enough, and programs that make TLS contexts test most.
const PROGRAMS: [&[&str]; 5] = [
    &["/bin/true"],
    &["/usr/bin/python3", "-I", "-c", "import ssl; ssl.create_default_context()"],
    &["/usr/bin/openssl", "version"],
    &["/usr/bin/curl", "--version"],
    &["/usr/bin/perl", "-e", "1"],
];

/// Runs the available [`PROGRAMS`] with the library at `library` in the root. Returns the programs that were run: none
/// where only root could run them, by changing the root directory. If the library `replaces` one that programs load
/// already, the old one may be the reason why no program can be run.
pub fn try_library(destination: &Destination, library: &Path, replaces: bool) -> Result<Vec<String>, Failure> {
    let mut tried = Vec::new();
    if !destination.is_machine() && !rustix::process::geteuid().is_root() {
        return Ok(tried);
    }
    if !destination.is_machine() && !destination.exists(ENV) {
        let what = format!("can't try the library {}", library.display());
        let why = format!("the image has no {ENV}, with which its programs are started");
        return Err(failure(destination, what, why).advise("--no-try installs without a trial"));
    }
    for program in PROGRAMS {
        // A program that is missing, or that prints errors without the library, tells nothing.
        if !destination.exists(program[0]) || !run(destination, None, program).is_ok_and(|outcome| outcome.is_quiet()) {
            continue;
        }
        let outcome = run(destination, Some(library), program);
        let what = || format!("can't use the library {}", library.display());
        let outcome = outcome.map_err(|error| failure(destination, what(), error))?;
        if !outcome.is_quiet() {
            let why = format!("{} with it {}", program[0], outcome.words());
            return Err(
                failure(destination, what(), why).advise("check that it was built for this architecture and C library")
            );
        }
        tried.push(program[0].to_owned());
    }
    if tried.is_empty() && !replaces {
        return Err(failure(
            destination,
            format!("can't try the library {}", library.display()),
            "no program could be run",
        )
        .advise("at least /bin/true must run there without the library"));
    }
    Ok(tried)
}

/// States the current situation: the trial runs after all steps on files that no program loads yet, and before any step
/// that makes programs load the library.
fn failure(destination: &Destination, what: String, why: impl std::fmt::Display) -> Failure {
    let undo = match destination.home() {
        Some(_) => "windlass uninstall --shell".to_owned(),
        None if destination.is_machine() => "windlass uninstall".to_owned(),
        None => format!("windlass uninstall --root {}", destination.root().display()),
    };
    Failure::other(what, why)
        .advise("no program was told to load it, and earlier activations stay as they were")
        .advise(format!(
            "copies, hook and units that this run put in place stay: `{undo}` takes them back, and the same `windlass \
             install` goes on"
        ))
}

struct Outcome {
    status: Option<std::process::ExitStatus>,
    said: String,
}

impl Outcome {
    fn is_quiet(&self) -> bool {
        self.status.is_some_and(|status| status.success()) && self.said.is_empty()
    }

    fn words(&self) -> String {
        let end = match self.status {
            Some(status) => format!("ended with {status}"),
            None => format!("did not end within {} s", PATIENCE.as_secs()),
        };
        if self.said.is_empty() { end } else { format!("{end} and said: {}", self.said.trim()) }
    }
}

fn run(destination: &Destination, library: Option<&Path>, program: &[&str]) -> std::io::Result<Outcome> {
    let mut command;
    if destination.is_machine() {
        command = Command::new(program[0]);
        command.env_clear();
        command.envs(library.map(|library| ("LD_PRELOAD", library)));
    } else {
        // chroot(1) and env(1): the library must not be preloaded before the root is changed.
        command = Command::new("chroot");
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").arg(destination.root()).args([ENV, "-i"]);
        command.args(library.map(|library| format!("LD_PRELOAD={}", library.display()))).arg(program[0]);
    }
    command.args(&program[1..]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let status = wait(&mut child)?;
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take().filter(|_| status.is_some()) {
        stderr.read_to_end(&mut said)?;
    }
    Ok(Outcome { status, said: String::from_utf8_lossy(&said).into_owned() })
}

fn wait(child: &mut Child) -> std::io::Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    #[test]
    fn a_failed_trial_says_what_stays() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("library.so");
        std::fs::write(&library, "no ELF").unwrap();
        let path = directory.path().to_owned();
        let home = Home { config: path.join(".config"), state: path.join(".local/state"), path };
        for (destination, undo) in [
            (Destination::system(None).unwrap(), "`windlass uninstall` takes them back"),
            (Destination::user(&home), "`windlass uninstall --shell` takes them back"),
        ] {
            let said = try_library(&destination, &library, false).unwrap_err().to_string();
            assert!(said.contains("/bin/true with it ") && said.contains("no program was told to load it"), "{said}");
            assert!(said.contains("put in place stay") && said.contains(undo), "{said}");
        }
        let image = Destination::system(Some(directory.path())).unwrap();
        if rustix::process::geteuid().is_root() {
            let said = try_library(&image, &library, false).unwrap_err().to_string();
            assert!(said.contains("the image has no /usr/bin/env") && said.contains("--no-try"), "{said}");
        }
        let undo = format!("`windlass uninstall --root {}`", image.root().display());
        assert!(failure(&image, String::new(), "").to_string().contains(&undo));
    }
}
