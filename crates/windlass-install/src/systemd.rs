//! systemd: whether it is there, and the commands sent to it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use windlass_machine::Failure;

use super::destination::Destination;

/// The directories of units, most important first (systemd.unit(5)).
pub const UNIT_DIRECTORIES: [&str; 6] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator",
];

/// The state of systemd in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Systemd {
    /// Not installed.
    Missing,
    /// Installed, but not running here: an image, a container.
    Installed,
    /// It runs this machine.
    Running,
}

impl Systemd {
    /// Checks a place. sd_booted(3) tests the existence of one directory.
    pub fn of(destination: &Destination) -> Systemd {
        if destination.is_machine() && Path::new("/run/systemd/system").is_dir() {
            return Systemd::Running;
        }
        let there = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"].iter().any(|path| destination.exists(path));
        if there { Systemd::Installed } else { Systemd::Missing }
    }
}

/// Whether a unit is running.
pub fn is_active(unit: &str) -> bool {
    systemctl(["is-active", "--quiet", "--", unit]).status().is_ok_and(|status| status.success())
}

/// Stops those of the units that exist and are running or starting, in this order. Their failures, now or earlier, are
/// reset: systemd would list them after the unit files are gone.
pub fn stop<const N: usize>(units: [&str; N]) -> Result<(), Failure> {
    for unit in units {
        if !matches!(&*state(unit), "" | "inactive" | "failed") {
            call(["stop", "--", unit])?;
        }
        if state(unit) == "failed" {
            call(["reset-failed", "--", unit])?;
        }
    }
    Ok(())
}

/// The state in systemd's words; empty if it does not answer.
fn state(unit: &str) -> String {
    let output = systemctl(["show", "--property=ActiveState", "--value", "--", unit]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Runs systemctl, and fails if it fails.
pub fn call<const N: usize>(arguments: [&str; N]) -> Result<(), Failure> {
    let what = || format!("systemctl {}", arguments.join(" "));
    let output = systemctl(arguments).stdout(Stdio::null()).output();
    let output = output.map_err(|error| Failure::other(what(), error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = if said.trim().is_empty() { output.status.to_string() } else { said.trim().to_owned() };
    Err(Failure::other(what(), why)
        .advise("the files are in place; run this command by hand once systemd works, or run windlass again"))
}

fn systemctl<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("systemctl");
    command.args(arguments).stdin(Stdio::null());
    command
}
