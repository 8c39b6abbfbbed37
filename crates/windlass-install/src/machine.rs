//! Activation for every program of a machine: the list of libraries in /etc/ld.so.preload (ld.so(8)).

use std::path::{Path, PathBuf};

use windlass_machine::Failure;

use super::disk;
use super::plan::{Action, Context, Plan, Step};
use super::record::{Kind, Mark, Record, Target};
use super::text::{has_name, with_name};

/// The list of preloaded libraries.
pub const LIST: &str = "/etc/ld.so.preload";

/// Loaders of programs that can't load a library of this machine's first architecture (Debian's names).
pub const OTHER_LOADERS: [&str; 3] = ["/lib/ld-linux.so.2", "/libx32/ld-linux-x32.so.2", "/lib/ld-linux-armhf.so.3"];

/// Plans the line in the list.
pub fn plan(plan: &mut Plan, context: &Context<'_>, record: &Record, library: &Path) -> Result<(), Failure> {
    let list = PathBuf::from(LIST);
    let why = "every program that starts from now on loads the library";
    let now = disk::read_to_edit(context.destination, &list)?;
    if now.as_deref().is_some_and(|text| has_name(text, library)) {
        plan.steps.push(Step::there(Target::Machine, list, "names the library already", why));
        return Ok(());
    }
    if let Some(loader) = OTHER_LOADERS.iter().find(|path| context.destination.exists(path)) {
        return Err(Failure::other(
            format!("won't name the library in {LIST}"),
            format!(
                "{loader} is installed, and each program that it starts would print an error about a library of \
                     another architecture"
            ),
        )
        .advise("activate Windlass for single services or users instead: --service NAME, --shell"));
    }
    // The new name replaces the one that an earlier version put there.
    let earlier = record.file(&list).and_then(|change| match &change.kind {
        Kind::Edit { mark, .. } => Some(mark),
        _ => None,
    });
    let before =
        now.as_ref().map(|text| earlier.and_then(|mark| mark.taken_out_of(text)).unwrap_or_else(|| text.clone()));
    let after = with_name(before.as_deref().unwrap_or_default(), library);
    let what = match before {
        Some(_) => format!("add the line {}", library.display()),
        None => format!("create, with the line {}", library.display()),
    };
    let action = Action::Edit { now, before, after, mark: Mark::Names(vec![library.to_owned()]) };
    plan.steps.push(Step::to_do(Target::Machine, list, what, why, action));
    Ok(())
}
