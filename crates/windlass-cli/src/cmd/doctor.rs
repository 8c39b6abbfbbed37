//! `windlass doctor`.

use std::path::PathBuf;
use std::process::ExitCode;

use windlass_doctor::check::Check;
use windlass_doctor::machine::Machine;
use windlass_doctor::registry;
use windlass_doctor::report::Report;
use windlass_libcrypto::Libcrypto;
use windlass_machine::{Failure, FailureKind};

use crate::cli::doctor::DoctorArgs;
use crate::exit::Exit;
use crate::output::terminal::Terminal;
use crate::output::{doctor_explain, doctor_json, doctor_sarif, doctor_table, stdout};

/// Runs checks, or tells about them.
pub fn run(arguments: &DoctorArgs) -> Result<ExitCode, Failure> {
    if arguments.list {
        let text = if arguments.json { doctor_json::list() } else { doctor_explain::list() };
        return stdout::write(text.as_bytes());
    }
    if let Some(id) = &arguments.explain {
        return stdout::write(doctor_explain::render(check(id)?, Terminal::stdout()).as_bytes());
    }
    let checks: Vec<&'static Check> = if arguments.checks.is_empty() {
        registry::all().collect()
    } else {
        let named: Vec<_> = arguments.checks.iter().map(|id| check(id)).collect::<Result<_, _>>()?;
        // In their own order, and once each.
        registry::all().filter(|check| named.iter().any(|named| named.id == check.id)).collect()
    };
    let root = arguments.root.as_ref().map(|root| image(root)).transpose()?;
    if let ([check], Some(root)) = (&checks[..], &root)
        && registry::needs_running(check)
    {
        let what = format!("--check {} with --root {}", check.id, root.display());
        return Err(Failure::new(FailureKind::Usage, what, "it looks at running programs, and none of an image runs"));
    }
    let libcryptos = Libcrypto::all();
    let machine = Machine::new(root.as_deref(), &libcryptos, !arguments.no_measure);
    let report = Report::of(&machine, checks);
    let text = match (arguments.json, arguments.sarif) {
        (true, _) => doctor_json::render(&report),
        (_, true) => doctor_sarif::render(&report),
        _ => doctor_table::render(&report, Terminal::stdout()),
    };
    stdout::write(text.as_bytes())?;
    Ok(Exit::from(report.verdict(arguments.fail_on.severity())).into())
}

fn check(id: &str) -> Result<&'static Check, Failure> {
    registry::named(id).ok_or_else(|| Failure::new(FailureKind::Usage, format!("{id:?}"), "no such check"))
}

fn image(root: &std::path::Path) -> Result<PathBuf, Failure> {
    let cannot = |why: std::io::Error| {
        Failure::new(FailureKind::Other, format!("cannot look into --root {}", root.display()), why)
            .advise("name the root directory of an image")
    };
    let root = std::path::absolute(root).map_err(cannot)?;
    root.read_dir().map_err(cannot)?;
    Ok(root)
}
