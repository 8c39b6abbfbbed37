//! The steps of an installation, and their order.

use std::path::Path;

use windlass_machine::Failure;

use super::files::{self, Files};
use super::plan::{Action, Content, Context, Plan, Step, Wanted};
use super::record::{Record, Target};
use super::{apparmor, machine, service, shell, upkeep};

impl Plan {
    /// Plans all requested parts. `record` holds the changes of earlier commands in this place.
    pub fn install(wanted: &Wanted, context: &Context<'_>, record: &Record) -> Result<Plan, Failure> {
        let mut plan = Plan::default();
        let system = wanted.is_system();
        let files = Files::find(context, record, system, wanted.activates())?;
        if system {
            plan.steps.extend(files.command);
        }
        plan.steps.extend(files.library_steps);
        if system {
            upkeep::plan(&mut plan, context, record, &files.command_path)?;
        }
        let library = files.library.as_ref();
        let notes = match &files.library_file {
            Some(file) => (context.fits)(file, wanted.machine)?,
            None => Vec::new(),
        };
        let activations = plan.steps.len();
        for name in &wanted.services {
            let Some(library) = library else { continue };
            service::plan(&mut plan, context, record, name, library)?;
        }
        if let (Some(shell), Some(home), Some(library)) = (&wanted.shell, context.home, library) {
            shell::plan(&mut plan, context, record, shell, home, library)?;
        }
        if let (true, Some(library)) = (wanted.machine, library) {
            machine::plan(&mut plan, context, record, library)?;
        }
        plan.notes.extend(notes);
        if let (true, Some(library)) = (wanted.machine || !wanted.services.is_empty(), library) {
            plan.notes.extend(apparmor::note(context.destination, library));
        }
        if let (Some(library), false) = (library, wanted.untried) {
            plan.trials(context, record, library, activations);
        }
        if system {
            upkeep::finish(&mut plan, context, record);
        }
        Ok(plan)
    }

    /// Adds trials of the library: before the first activation is made, and, if the new library can be reached first,
    /// before it replaces one that programs load already.
    fn trials(&mut self, context: &Context<'_>, record: &Record, library: &Path, activations: usize) {
        let why = "a library that can't be loaded makes every program print an error";
        let is_named = |step: &Step| !step.to_do && step.target.is_activation();
        let is_activated = record.changes.iter().any(|change| change.target.is_activation())
            || self.steps[activations..].iter().any(is_named);
        let copied = self.steps[..activations].iter().position(|step| step.to_do && step.path == library);
        let copied = copied.filter(|_| is_activated);
        let source = copied.and_then(|index| match &self.steps[index].action {
            Action::File { content: Content::Of(from), .. } => Some((index, from.clone())),
            _ => None,
        });
        let is_there = context.destination.is_machine() && context.destination.exists(library);
        let early = source.filter(|(_, from)| is_there && files::safe_in_scripts(from).is_ok());
        if self.steps[activations..].iter().any(|step| step.to_do) || (copied.is_some() && early.is_none()) {
            let action = Action::Try { library: library.to_owned(), replaces: false };
            let what = match (context.destination.is_machine(), rustix::process::geteuid().is_root()) {
                (true, _) => "run programs with it, which must print nothing",
                (false, true) => {
                    "run programs of the image with it, as root (chroot), which must print nothing; --no-try leaves \
                     it out"
                }
                (false, false) => "run nothing with it: only root can run programs of an image",
            };
            self.steps.insert(activations, Step::to_do(Target::Library, library, what, why, action));
        }
        if let Some((index, from)) = early {
            let action = Action::Try { library: from.clone(), replaces: true };
            let what =
                "run programs with it before it takes the place of the one that they load now; they must print nothing";
            self.steps.insert(index, Step::to_do(Target::Library, from, what, why, action));
        }
    }
}
