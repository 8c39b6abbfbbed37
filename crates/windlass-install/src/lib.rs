//! `windlass install` and `windlass uninstall`.
//!
//! First a plan is made and shown (`planner.rs`; each part has a file of its own). `apply.rs` runs its steps, through
//! the few atomic changes of windlass-journal (`disk.rs`). Each change is in the record (`record.rs`) before it is
//! made, along with the data to undo it; `undo.rs` does that. After a kill at any point, `install` completes the work
//! and `uninstall` undoes it.

#![deny(unsafe_code)]

mod alias;
mod apparmor;
mod apply;
mod destination;
mod disk;
mod files;
mod known;
mod libc;
mod machine;
mod plan;
mod planner;
mod probe;
mod record;
mod service;
mod shell;
mod state;
mod systemd;
mod text;
mod undo;
mod unit;
mod upkeep;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use apply::end_with_parent;
pub use destination::{Destination, Home};
pub use plan::{Plan, Step, Wanted};
pub use record::Target;
pub use undo::Undo;

use apply::{Executor, compile_command};
use disk::changed_meanwhile;
use plan::Context;
use systemd::Systemd;
use windlass_machine::Failure;
use windlass_machine::loader::preload_library::Library;

/// What to install, and where.
#[derive(Debug)]
pub struct Installation {
    /// The requested parts.
    pub wanted: Wanted,
    /// The place to install into.
    pub destination: Destination,
    /// The user's directories, if a shell is requested.
    pub home: Option<Home>,
}

impl Installation {
    /// Plans the installation. Changes nothing.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let record = known::read(&self.destination)?.unwrap_or_default();
        let executable = executable()?;
        let context = Context {
            destination: &self.destination,
            home: self.home.as_ref(),
            systemd: Systemd::of(&self.destination),
            executable: &executable,
            library: &|| Library::find().map(|library| library.path),
            fits: &|library, is_machine| {
                libc::check(&self.destination, library).map(|()| libc::notes(&self.destination, is_machine))
            },
            is_compiled: &|| is_compiled(&executable, &self.destination),
        };
        Plan::install(&self.wanted, &context, &record)
    }

    /// Carries out the plan that was shown, or less if some of it was done meanwhile; nothing if the plan would differ
    /// by now. Returns remarks for the user.
    pub fn apply(&self, shown: &Plan) -> Result<Vec<String>, Failure> {
        let _lock = state::open_or_make(&self.destination)?;
        let plan = self.plan()?;
        if !plan.is_within(shown) {
            return Err(changed_meanwhile());
        }
        let record = known::read(&self.destination)?.unwrap_or_default();
        let executable = executable()?;
        Executor { destination: &self.destination, record, executable: &executable }.install(&plan)
    }
}

/// Plans the removal of these targets (all, if there are none); None if nothing is recorded. Changes nothing.
pub fn plan_removal(destination: &Destination, targets: &[Target]) -> Result<Option<Vec<Undo>>, Failure> {
    known::read(destination)?.map(|record| undo::plan(&record, targets, destination)).transpose()
}

/// Carries out the removal that was shown, unless the plan would differ by now.
pub fn apply_removal(destination: &Destination, targets: &[Target], shown: &[Undo]) -> Result<(), Failure> {
    let _lock = state::open(destination)?;
    let Some(record) = known::read(destination)? else { return Err(changed_meanwhile()) };
    if undo::plan(&record, targets, destination)? != shown {
        return Err(changed_meanwhile());
    }
    let executable = executable()?;
    Executor { destination, record, executable: &executable }.uninstall(shown, Systemd::of(destination))
}

/// The directories that a removal left if it was killed at its very end.
pub fn leftovers(destination: &Destination) -> Result<Vec<std::path::PathBuf>, Failure> {
    Ok(state::leftovers(destination)?.into_iter().map(|left| left.path).collect())
}

/// The directory of compiled stores, if undoing `plan` leaves stores there: those from before the installation.
pub fn stores_that_stay(destination: &Destination, plan: &[Undo]) -> Option<&'static Path> {
    let stores = Path::new(upkeep::STORES);
    let is_upkeep = |undo: &Undo| undo.target == Target::Upkeep;
    if !plan.iter().any(is_upkeep) || plan.iter().any(|undo| undo.path == stores) {
        return None;
    }
    let real = destination.real(stores, destination::Last::Followed).ok()?;
    let is_store = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "store");
    std::fs::read_dir(real).ok()?.flatten().any(is_store).then_some(stores)
}

/// Removes the [`leftovers`].
pub fn tidy(destination: &Destination) -> Result<(), Failure> {
    state::remove_leftovers(destination)
}

fn executable() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::other("can't find this executable", error))
}

fn is_compiled(executable: &Path, destination: &Destination) -> bool {
    let silent = std::process::Stdio::null;
    let status = compile_command(executable, destination).arg("--check").stdout(silent()).stderr(silent()).status();
    status.is_ok_and(|status| status.success())
}
