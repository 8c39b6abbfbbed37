//! The upkeep of the compiled stores: the hook of update-ca-certificates(8), and units for edits that bypass it.

use std::path::Path;

use windlass_machine::Failure;

use super::destination::Destination;
use super::plan::{Action, Content, Context, Foreign, NewFile, Plan, Step};
use super::record::{Record, Target};
use super::systemd::{self, Systemd};

/// The package installs the same files; there they name /usr/bin/windlass.
const HOOK: &str = include_str!("../../../packaging/hook/windlass");
const PATH_UNIT: &str = include_str!("../../../packaging/systemd/windlass-compile.path");
const SERVICE_UNIT: &str = include_str!("../../../packaging/systemd/windlass-compile.service");
const PACKAGED_COMMAND: &str = "/usr/bin/windlass";

const HOOK_DIRECTORY: &str = "/etc/ca-certificates/update.d";
const UNITS: &str = "/etc/systemd/system";
/// The directories that packages install units in.
const PACKAGED_UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];
/// The unit that watches the sources.
pub const WATCH: &str = "windlass-compile.path";
/// The unit that it starts.
pub const COMPILE: &str = "windlass-compile.service";
/// The directory of the machine's compiled stores.
pub const STORES: &str = "/var/cache/windlass";

/// The files that upkeep installs.
pub const FILES: [&str; 3] = [
    "/etc/ca-certificates/update.d/windlass",
    "/etc/systemd/system/windlass-compile.service",
    "/etc/systemd/system/windlass-compile.path",
];

/// The link that upkeep installs.
pub fn link() -> std::path::PathBuf {
    Path::new(UNITS).join("paths.target.wants").join(WATCH)
}

/// Plans hook and units.
pub fn plan(plan: &mut Plan, context: &Context<'_>, record: &Record, command: &Path) -> Result<(), Failure> {
    let named = |text: &str| Content::Bytes(text.replace(PACKAGED_COMMAND, &command.to_string_lossy()).into_bytes());
    let destination = context.destination;
    let new = |path: &str, name: &str, text, mode, why| NewFile {
        target: Target::Upkeep,
        path: Path::new(path).join(name),
        content: named(text),
        mode,
        lines: Vec::new(),
        why,
        if_foreign: Foreign::Keep,
    };
    if destination.is_directory(HOOK_DIRECTORY) {
        let why = "compiles the trust store after each update-ca-certificates";
        super::files::add(plan, context, record, new(HOOK_DIRECTORY, "windlass", HOOK, 0o755, why))?;
    } else {
        plan.notes.push(format!(
            "no hook: {HOOK_DIRECTORY} does not exist (Debian's ca-certificates has it); after a change of the trust \
             store run `windlass compile`, or leave it to the units"
        ));
    }
    if context.systemd == Systemd::Missing {
        plan.notes.push(
            "no units: systemd is not installed here; edits that bypass update-ca-certificates need a `windlass \
             compile`"
                .into(),
        );
        return Ok(());
    }
    let why_watch = "watches the trust store for edits that bypass update-ca-certificates";
    let why_compile = "compiles the trust store when the path unit sees a change";
    let packaged = PACKAGED_UNITS.iter().find(|directory| destination.exists(Path::new(directory).join(WATCH)));
    let watch = match packaged {
        Some(directory) => {
            for (unit, why) in [(COMPILE, why_compile), (WATCH, why_watch)] {
                let path = Path::new(directory).join(unit);
                plan.steps.push(Step::there(Target::Upkeep, path, "is there already, from a package", why));
            }
            Path::new(directory).join(WATCH)
        }
        None => {
            super::files::add(plan, context, record, new(UNITS, COMPILE, SERVICE_UNIT, 0o644, why_compile))?;
            super::files::add(plan, context, record, new(UNITS, WATCH, PATH_UNIT, 0o644, why_watch))?;
            Path::new(UNITS).join(WATCH)
        }
    };
    enable(plan, destination, record, &watch);
    Ok(())
}

/// Does the work of `systemctl enable`; unlike that, it works where systemd does not run, and can be undone exactly.
fn enable(plan: &mut Plan, destination: &Destination, record: &Record, watch: &Path) {
    let link = link();
    let why = "starts the path unit at boot";
    let real = destination.real(&link, super::destination::Last::Itself);
    if real.is_ok_and(|real| real.symlink_metadata().is_ok()) {
        let what = if record.has_link(&link) { "is there already" } else { "is enabled already" };
        plan.steps.push(Step::there(Target::Upkeep, link, what, why));
    } else {
        let to = watch.to_owned();
        let what = format!("link to {}", to.display());
        plan.steps.push(Step::to_do(Target::Upkeep, link, what, why, Action::Link { to }));
    }
}

/// Plans the steps after all files are in place: reloading systemd, and the first compiled store.
pub fn finish(plan: &mut Plan, context: &Context<'_>, record: &Record) {
    let units_change = plan.changes(|path| path.starts_with(UNITS));
    match context.systemd {
        Systemd::Running => {
            if units_change || record.unfinished {
                let why = "makes systemd read the new units";
                plan.steps.push(Step::to_do(Target::Upkeep, "systemctl", "daemon-reload", why, Action::Reload));
            }
            let why = "starts watching now";
            plan.steps.push(if units_change || record.unfinished || !systemd::is_active(WATCH) {
                let action = Action::Start { unit: WATCH.into() };
                Step::to_do(Target::Upkeep, WATCH, "start", why, action)
            } else {
                Step::there(Target::Upkeep, WATCH, "is running", why)
            });
        }
        Systemd::Installed if context.destination.is_machine() => {
            plan.notes.push(
                "systemd does not run here: systemctl is not called, and the path unit begins at the next boot".into(),
            );
        }
        Systemd::Installed | Systemd::Missing => {}
    }
    let why = "makes the compiled store for the sources there are now";
    plan.steps.push(if (context.is_compiled)() {
        Step::there(Target::Upkeep, STORES, "is up to date", why)
    } else {
        Step::to_do(Target::Upkeep, STORES, "windlass compile", why, Action::Compile)
    });
}
