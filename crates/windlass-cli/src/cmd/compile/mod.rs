//! `windlass compile`.

pub mod args;
mod progress;
mod table;

use std::path::Path;
use std::process::ExitCode;

use windlass::compiled::{Overwrite, Root};
use windlass_compile::build::Build;
use windlass_compile::report::{Report, State};
use windlass_compile::{check, target};
use windlass_libcrypto::Libcrypto;
use windlass_machine::places::sources::{self, Candidate};
use windlass_machine::{Failure, FailureKind, json};

use crate::exit::Exit;
use crate::output::{stderr, stdout};
use args::CompileArgs;
use progress::Progress;

/// Compiles sources, or says whether that needs to be done.
pub fn run(arguments: &CompileArgs) -> Result<ExitCode, Failure> {
    if windlass_install::end_with_parent() {
        return Ok(Exit::Failure.into());
    }
    let root = match &arguments.root {
        Some(root) => Some(absolute(root)?),
        None => None,
    };
    let root = Root(root.as_deref());
    let directory = target::directory(arguments.store.as_deref(), root, !arguments.check)?;
    let libcryptos = Libcrypto::all();
    let candidates = match &arguments.sources[..] {
        [] => sources::defaults(&libcryptos, root),
        paths => sources::named(paths, root).map_err(|error| Failure::other("cannot use SOURCE", error))?,
    };
    let mut report = Report::new(&directory, root.0, &libcryptos);
    if arguments.check {
        report.sources = candidates.iter().map(|candidate| check::source(candidate, &directory, root)).collect();
        // A source that is not there, and of which nothing is compiled, is a mistake and no stale store: as without
        // --check.
        let failures: Vec<_> = report.sources.iter().filter_map(check::failure).collect();
        let stale = report.sources.iter().any(|row| row.state.is_stale() || row.named && !row.state.is_fresh());
        let found = if stale { Exit::StoreStale } else { Exit::Success };
        let code = print(&report, arguments, failures.first().map_or(found, |failure| Exit::from(failure.kind)))?;
        failures.iter().for_each(stderr::line);
        return Ok(code);
    }

    if libcryptos.is_empty() {
        return Err(Failure::other("cannot compile", "no libcrypto was found that could check the certificates")
            .advise(
                "install OpenSSL's libraries (Debian: libssl3); without them nothing needs to be compiled for OpenSSL",
            ));
    }
    target::check_writable(&directory)?;
    let overwrite = if arguments.force { Overwrite::Forced } else { Overwrite::Guarded };
    let build = Build { directory: &directory, root, libcryptos: &libcryptos, overwrite };
    let mut failures = Vec::new();
    for candidate in &candidates {
        let (row, failure) = build.source(candidate, Progress::start(candidate.source.path()))?;
        report.sources.push(row);
        failures.extend(failure);
    }
    failures.extend(nothing_compiled(&report, &candidates));
    let exit = failures.first().map_or(Exit::Success, |failure| failure.kind.into());
    let code = print(&report, arguments, exit)?;
    failures.iter().for_each(stderr::line);
    Ok(code)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::other(format!("cannot use {}", path.display()), error))
}

/// Defaults may be missing, but not all of them.
fn nothing_compiled(report: &Report, candidates: &[Candidate]) -> Option<Failure> {
    let is = |wanted: &[State]| report.sources.iter().any(|row| wanted.contains(&row.state));
    if candidates.iter().any(|candidate| candidate.named) || is(&[State::Written, State::Unchanged, State::Shrinks]) {
        return None;
    }
    let what = "nothing was compiled";
    Some(if is(&[State::Unsupported]) {
        Failure::new(FailureKind::SourceUnsupported, what, "no default source could be")
            .advise("programs use their sources directly, as without Windlass")
    } else if is(&[State::Unreadable]) {
        Failure::new(FailureKind::SourceUnreadable, what, "no default source could be read")
            .advise("programs use their sources directly, as without Windlass; `windlass doctor` says what is wrong")
    } else {
        Failure::new(
            FailureKind::SourceUnreadable,
            what,
            "OpenSSL and GnuTLS have no default source of trust \
                                                           here",
        )
        .advise(
            "install the system's CA certificates (package ca-certificates), or name a source: windlass compile FILE",
        )
    })
}

fn print(report: &Report, arguments: &CompileArgs, exit: Exit) -> Result<ExitCode, Failure> {
    let text = if arguments.json { json::render(report) } else { table::render(report, arguments.check) };
    stdout::write(text.as_bytes())?;
    Ok(exit.into())
}
