//! `windlass doctor`.

pub mod args;
mod json;
mod sarif;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use windlass_doctor::baseline::Baseline;
use windlass_doctor::check::Check;
use windlass_doctor::machine::Machine;
use windlass_doctor::registry;
use windlass_doctor::report::{Report, Verdict};
use windlass_libcrypto::Libcrypto;
use windlass_machine::{Failure, FailureKind};

use crate::exit::Exit;
use crate::output::stdout;
use crate::output::terminal::Terminal;
use args::DoctorArgs;

/// Runs checks, or tells about them.
pub fn run(arguments: &DoctorArgs) -> Result<ExitCode, Failure> {
    if arguments.list {
        let text = if arguments.json { json::list() } else { table::list() };
        return stdout::write(text.as_bytes());
    }
    if let Some(id) = &arguments.explain {
        return stdout::write(table::explanation(check(id)?, Terminal::stdout()).as_bytes());
    }
    let checks: Vec<&'static Check> = if arguments.checks.is_empty() {
        registry::all().collect()
    } else {
        let named: Vec<_> = arguments.checks.iter().map(|id| check(id)).collect::<Result<_, _>>()?;
        // In their own order, and once each.
        registry::all().filter(|check| named.iter().any(|named| named.id == check.id)).collect()
    };
    let is_skipped = |check: &&Check| arguments.skip.iter().any(|skipped| skipped == check.id);
    let checks: Vec<_> = checks.into_iter().filter(|check| !is_skipped(check)).collect();
    if checks.is_empty() {
        return Err(Failure::new(FailureKind::Usage, "--skip", "no check is left to run"));
    }
    let root = arguments.root.as_ref().map(|root| image(root)).transpose()?;
    if let ([check], Some(root)) = (&checks[..], &root)
        && registry::needs_running(check)
    {
        let what = format!("--check {} with --root {}", check.id, root.display());
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            "this check examines running processes, and an image has \
                                                           none",
        ));
    }
    // Before the work: nobody waits for a report that can't be made.
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    let libcryptos = Libcrypto::all();
    let machine = Machine::new(root.as_deref(), &libcryptos, !arguments.no_measure);
    let mut report = Report::of(&machine, checks);
    if let Some(path) = &arguments.write_baseline {
        Baseline::of(&report).write(path)?;
    }
    if let Some(baseline) = &baseline {
        baseline.apply(&mut report);
    }
    let text = match (arguments.json, arguments.sarif) {
        (true, _) => json::render(&report),
        (_, true) => sarif::render(&report),
        _ => table::render(&report, Terminal::stdout()),
    };
    stdout::write(text.as_bytes())?;
    let verdict = report.verdict(arguments.fail_on.severity());
    // What was written is accepted. What could not be looked at is not in it.
    let verdict = match (verdict, &arguments.write_baseline) {
        (Verdict::Errors | Verdict::Warnings, Some(_)) => report.verdict_if_accepted(),
        _ => verdict,
    };
    Ok(Exit::from(verdict).into())
}

fn check(id: &str) -> Result<&'static Check, Failure> {
    registry::named(id).ok_or_else(|| Failure::new(FailureKind::Usage, format!("{id:?}"), "no such check"))
}

fn image(root: &std::path::Path) -> Result<PathBuf, Failure> {
    let cannot = |why: std::io::Error| {
        Failure::other(format!("cannot examine --root {}", root.display()), why)
            .advise("name the root directory of an image")
    };
    let root = std::path::absolute(root).map_err(cannot)?;
    root.read_dir().map_err(cannot)?;
    Ok(root)
}
