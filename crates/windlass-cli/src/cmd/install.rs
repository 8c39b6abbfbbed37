//! `windlass install`.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use windlass_install::{Destination, Home, Installation, Plan, Wanted};
use windlass_machine::{Failure, FailureKind};

use crate::cli::install::{HowArgs, InstallArgs};
use crate::exit::Exit;
use crate::output::terminal::printable;
use crate::output::{install_json, install_plan, stderr, stdout};

/// Shows what is to be installed, and does it.
pub fn run(arguments: &InstallArgs) -> Result<ExitCode, Failure> {
    let how = &arguments.how;
    let mut installations = Vec::new();
    let untried = arguments.no_try;
    let wanted = Wanted { machine: arguments.machine, services: arguments.service.clone(), shell: None, untried };
    // A shell is recorded with the user, all else with the machine.
    if wanted.machine || !wanted.services.is_empty() || arguments.shell.is_none() {
        installations.push(Installation { wanted, destination: Destination::system(how.root.as_deref())?, home: None });
    }
    if let Some(shell) = &arguments.shell {
        let home = home()?;
        let wanted = Wanted { shell: Some(shell_name(shell)?), untried, ..Wanted::default() };
        installations.push(Installation { wanted, destination: Destination::user(&home), home: Some(home) });
    }
    let told = |installation: &Installation, failure| installation.destination.told(failure);
    let mut planned = Vec::new();
    for installation in &installations {
        planned.push((installation, installation.plan().map_err(|failure| told(installation, failure))?));
    }
    if how.json {
        // Several are of one root directory: there is no shell of an image.
        let root = installations.first().map_or(Path::new("/"), |installation| installation.destination.root());
        let plans: Vec<_> = planned.iter().map(|(_, plan)| plan).collect();
        stdout::write(install_json::plans(&plans, root, how.dry_run).as_bytes())?;
    }
    for (installation, plan) in &planned {
        if !install(installation, plan, how).map_err(|failure| told(installation, failure))? {
            return Ok(Exit::Failure.into());
        }
    }
    Ok(Exit::Success.into())
}

/// Says whether it was agreed to.
fn install(installation: &Installation, plan: &Plan, how: &HowArgs) -> Result<bool, Failure> {
    if !how.json {
        stdout::write(install_plan::plan(plan, &installation.destination).as_bytes())?;
    }
    if plan.is_done() || how.dry_run {
        return Ok(true);
    }
    if installation.home.is_none() {
        must_be_root(&installation.destination, "--shell, for your own programs, needs no root")?;
    }
    if !agreed(how, "install")? {
        return Ok(false);
    }
    for remark in installation.apply(plan)? {
        stderr::line(&format!("windlass: {remark}"));
    }
    if !how.json {
        let undo = match (&how.root, &installation.home) {
            (Some(root), _) => format!("windlass uninstall --root {}", root.display()),
            (None, Some(_)) => "windlass uninstall --shell".into(),
            (None, None) => "windlass uninstall".into(),
        };
        stdout::write(format!("Done. `{}` undoes it.\n", printable(&undo)).as_bytes())?;
    }
    Ok(true)
}

/// The user's directories.
pub fn home() -> Result<Home, Failure> {
    Home::of_this_user(|name| std::env::var_os(name)).ok_or_else(|| {
        Failure::other("the home directory", "HOME is not set, or does not lead to a directory of yours")
            .advise("set HOME to your home directory (sudo: -H)")
    })
}

fn shell_name(named: &str) -> Result<String, Failure> {
    if !named.is_empty() {
        return Ok(named.to_owned());
    }
    let shell = std::env::var("SHELL").ok().filter(|shell| !shell.is_empty());
    shell.ok_or_else(|| Failure::new(FailureKind::Usage, "--shell", "SHELL is not set").advise("name it: --shell=bash"))
}

/// What concerns the machine is root's to change.
pub fn must_be_root(destination: &Destination, otherwise: &str) -> Result<(), Failure> {
    if !destination.is_machine() || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Failure::other("this plan changes the whole machine", "you are not root")
        .advise("run the same command as root (sudo)")
        .advise(otherwise))
}

/// Asks whether to do what was shown. Where nobody can be asked, --yes has to have said it.
pub fn agreed(how: &HowArgs, command: &str) -> Result<bool, Failure> {
    let mut input = std::io::stdin().lock();
    if how.yes {
        return Ok(true);
    }
    let advice = format!("to carry out this plan: windlass {command} --yes, with the same options");
    let failure = |why: &dyn std::fmt::Display| {
        Failure::other("can't ask for confirmation, so nothing was done", why).advise(&*advice)
    };
    let why = match (how.json, input.is_terminal(), std::io::stdout().is_terminal()) {
        (true, ..) => "--json leaves no room for a question",
        (_, false, _) => "standard input is not a terminal",
        (.., false) => "standard output is not a terminal",
        _ => "",
    };
    if !why.is_empty() {
        return Err(failure(&why));
    }
    let mut output = std::io::stdout().lock();
    output.write_all(b"Go ahead? [y/N] ").and_then(|()| output.flush()).map_err(|error| failure(&error))?;
    let mut answer = String::new();
    input.read_line(&mut answer).map_err(|error| failure(&error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
