//! `windlass install` and `windlass uninstall`.
//!
//! A plan is made first, and shown (`plan.rs`; one file for each part of it). Its steps are taken by `apply.rs`,
//! through the few atomic changes of `disk.rs`. Each change is in the record (`record.rs`) before it is made, with what
//! it takes to undo it; `undo.rs` does that. So a command that was killed anywhere is completed by `install` and undone
//! by `uninstall`.

#![deny(unsafe_code)]

mod alias;
mod apparmor;
mod apply;
mod disk;
mod edit;
mod files;
mod known;
mod libc;
mod machine;
mod owned;
mod place;
mod plan;
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
pub use place::{Home, Place};
pub use plan::{Plan, Step, Wanted};
pub use record::Target;
pub use undo::Undo;

use apply::{Executor, compile_command};
use disk::Disk;
use plan::Context;
use record::Record;
use systemd::Systemd;
use windlass_machine::loader::preload_library::Library;
use windlass_machine::{Failure, FailureKind};

/// What is to be installed where.
#[derive(Debug)]
pub struct Installation {
    /// What.
    pub wanted: Wanted,
    /// Where.
    pub place: Place,
    /// The user's directories, where a shell is asked for.
    pub home: Option<Home>,
}

impl Installation {
    /// What it takes. Changes nothing.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let record = Record::read(&self.place)?.unwrap_or_else(Record::empty);
        let executable = executable()?;
        let context = Context {
            place: &self.place,
            home: self.home.as_ref(),
            systemd: Systemd::of(&self.place),
            executable: &executable,
            library: &|| Library::find().map(|library| library.path),
            fits: &|library, is_machine| {
                libc::check(&self.place, library).map(|()| libc::notes(&self.place, is_machine))
            },
            is_compiled: &|| is_compiled(&executable, &self.place),
        };
        Plan::install(&self.wanted, &context, &record)
    }

    /// Does what was planned, or less where some of it was done meanwhile; nothing if it would be something else by
    /// now. Says what is worth knowing afterwards.
    pub fn apply(&self, shown: &Plan) -> Result<Vec<String>, Failure> {
        let disk = Disk::default();
        let _lock = state::open_or_make(&self.place, &disk)?;
        let plan = self.plan()?;
        if !plan.is_within(shown) {
            return Err(changed_meanwhile());
        }
        let record = Record::read(&self.place)?.unwrap_or_else(Record::empty);
        let executable = executable()?;
        Executor { place: &self.place, disk: &disk, record, executable: &executable }.install(&plan)
    }
}

/// What undoing these targets (all, if there are none) takes; none if nothing is recorded. Changes nothing.
pub fn plan_removal(place: &Place, targets: &[Target]) -> Result<Option<Vec<Undo>>, Failure> {
    Record::read(place)?.map(|record| undo::plan(&record, targets, place)).transpose()
}

/// Does what was planned, unless it would be something else by now.
pub fn apply_removal(place: &Place, targets: &[Target], shown: &[Undo]) -> Result<(), Failure> {
    let disk = Disk::default();
    let _lock = state::open(place, &disk)?;
    let Some(record) = Record::read(place)? else { return Err(changed_meanwhile()) };
    if undo::plan(&record, targets, place)? != shown {
        return Err(changed_meanwhile());
    }
    let executable = executable()?;
    Executor { place, disk: &disk, record, executable: &executable }.uninstall(shown, Systemd::of(place))
}

/// What a removal that was killed at its very end left, if it did.
pub fn leftovers(place: &Place) -> Result<Vec<std::path::PathBuf>, Failure> {
    Ok(state::leftovers(place)?.into_iter().map(|left| left.path).collect())
}

/// Removes that.
pub fn tidy(place: &Place) -> Result<(), Failure> {
    state::remove_leftovers(place, &Disk::default())
}

fn changed_meanwhile() -> Failure {
    Failure::new(FailureKind::Other, "the plan", "something changed between showing it and taking its steps")
        .advise("run the command again, and look at the plan it shows then")
}

fn executable() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(FailureKind::Other, "can't find this executable", error))
}

fn is_compiled(executable: &Path, place: &Place) -> bool {
    let silent = std::process::Stdio::null;
    let status = compile_command(executable, place).arg("--check").stdout(silent()).stderr(silent()).status();
    status.is_ok_and(|status| status.success())
}
