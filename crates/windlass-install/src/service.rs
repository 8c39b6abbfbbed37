//! Activation for one systemd service: a drop-in that sets LD_PRELOAD.

use std::path::{Path, PathBuf};

use windlass_machine::{Failure, FailureKind};

use super::alias;
use super::destination::{Destination, Last};
use super::plan::{Content, Context, Foreign, NewFile, Plan};
use super::record::{Record, Target};
use super::systemd::{Systemd, UNIT_DIRECTORIES};
use super::unit::{self, Preload};

const DROP_IN: &str = "windlass.conf";

/// Plans the drop-in of a service.
pub fn plan(
    plan: &mut Plan,
    context: &Context<'_>,
    record: &Record,
    name: &str,
    library: &Path,
) -> Result<(), Failure> {
    let unit = unit_name(name)?;
    let destination = context.destination;
    if let Some(real) = alias::target(destination, &unit) {
        return Err(refuse_alias(&unit, &real));
    }
    let files = files_of(destination, &unit);
    if !files.iter().any(|file| file.is_unit) {
        let what = format!("service {unit}");
        return Err(Failure::other(what, "there is no such unit")
            .advise(format!("looked in {}", UNIT_DIRECTORIES.join(", ")))
            .advise("names of services: systemctl list-unit-files --type=service"));
    }
    let own = drop_in(&unit);
    let mut earlier: Option<String> = None;
    let mut unset: Vec<(&Path, String)> = Vec::new();
    for file in files.iter().filter(|file| file.path != own) {
        let real = destination.real(&file.path, Last::Followed)?;
        if real == Path::new("/dev/null") || real == destination.root().join("dev/null") {
            return Err(refuse(&unit, &file.path, "is a link to /dev/null: the unit is masked")
                .advise(format!("if it is to run again: systemctl unmask {unit}")));
        }
        let text =
            std::fs::read(&real).map_err(|error| Failure::other(format!("can't read {}", real.display()), error))?;
        let found = unit::read(&String::from_utf8_lossy(&text));
        if let Some(setting) = found.other_root {
            let why = format!(
                "sets {setting}: under another root directory the library is missing, and the loader would print an \
                 error"
            );
            return Err(refuse(&unit, &file.path, &why)
                .advise("such a service needs Windlass inside its own root: windlass install --root DIR"));
        }
        if let Some(environment) = found.environment_files.iter().find(|path| names_preload(destination, path)) {
            let why = format!("reads LD_PRELOAD from {environment}, which no drop-in can add to");
            return Err(refuse(&unit, &file.path, &why)
                .advise(format!("put {} in front of the value in {environment} yourself", library.display())));
        }
        if found.unset_begins_anew {
            unset.clear();
        }
        unset.extend(found.unset.into_iter().map(|word| (&*file.path, word)));
        match found.preload {
            Preload::Untouched => {}
            // systemd reads drop-ins in the order of their names, whatever their directory.
            _ if !file.is_unit && file.path.file_name() > own.file_name() => {
                let why = format!("sets LD_PRELOAD, and is read after our {DROP_IN}");
                return Err(refuse(&unit, &file.path, &why)
                    .advise(format!("put {} in front of the value there yourself", library.display())));
            }
            Preload::Unset => earlier = None,
            Preload::Set(value) => earlier = Some(value),
        }
    }
    let takes = |value: &str| {
        let is_taken = |word: &str| {
            word.strip_prefix("LD_PRELOAD").is_some_and(|rest| rest.is_empty() || rest.strip_prefix('=') == Some(value))
        };
        unset.iter().find(|(_, word)| is_taken(word))
    };
    // A value that the service never sees must not return through our drop-in.
    let earlier = earlier.filter(|value| !value.is_empty() && takes(value).is_none());
    let value = match &earlier {
        Some(kept) if kept.split([':', ' ']).any(|name| Path::new(name) == library) => kept.clone(),
        Some(kept) => format!("{}:{kept}", library.display()),
        None => library.display().to_string(),
    };
    // systemd.exec(5): "applied as the final step when the environment block is compiled". No drop-in can override it.
    if let Some((path, word)) = takes(&value) {
        let why =
            format!("has UnsetEnvironment={word}, which systemd applies last: the service would never see the library");
        return Err(refuse(&unit, path, &why).advise(format!(
            "if you no longer want that, add a drop-in with [Service] and an empty UnsetEnvironment= (systemctl edit \
             {unit}), then run this again"
        )));
    }
    let line =
        format!("Environment=\"LD_PRELOAD={}\"", value.replace('%', "%%").replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from("# Put here by `windlass install --service`, removed by `windlass uninstall`.\n");
    if earlier.is_some() {
        text.push_str("# What the unit sets itself is kept, behind the library.\n");
    }
    text.push_str(&format!("[Service]\n{line}\n"));
    let why = "the service and its child processes load the library, from the next start on";
    let file = NewFile {
        target: Target::Service(unit.clone()),
        path: own,
        content: Content::Bytes(text.into_bytes()),
        mode: 0o644,
        lines: vec![line],
        why,
        if_foreign: Foreign::Refuse("remove or rename that file (systemctl daemon-reload), and run this again"),
    };
    super::files::add(plan, context, record, file)?;
    if let Some(kept) = earlier {
        plan.notes.push(format!("{unit} sets LD_PRELOAD to {kept} itself, which is kept behind the library"));
    }
    if plan.steps.last().is_some_and(|step| step.to_do) && context.systemd == Systemd::Running {
        plan.notes.push(format!("{unit} is unchanged until you restart it: systemctl restart {unit}"));
    }
    Ok(())
}

fn refuse(unit: &str, path: &Path, why: &str) -> Failure {
    Failure::other(format!("can't activate Windlass for {unit}"), format!("{} {why}", path.display()))
}

fn refuse_alias(unit: &str, real: &str) -> Failure {
    let why = format!("it is another name of {real}");
    Failure::other(format!("can't activate Windlass for {unit}"), why)
        .advise(format!("windlass install --service {real}"))
}

/// The path of Windlass's drop-in for a service.
pub fn drop_in(unit: &str) -> PathBuf {
    Path::new("/etc/systemd/system").join(format!("{unit}.d")).join(DROP_IN)
}

/// The full name of a service, with its suffix.
pub fn unit_name(name: &str) -> Result<String, Failure> {
    let is_valid = |character: char| character.is_ascii_alphanumeric() || ":-_.\\@".contains(character);
    if name.is_empty() || !name.chars().all(is_valid) || name.starts_with('.') {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("--service {name:?}"),
            "not the name of a systemd service",
        ));
    }
    match name.rsplit_once('.') {
        Some((_, "service")) => Ok(name.to_owned()),
        Some((_, kind @ ("socket" | "timer" | "path" | "target" | "mount" | "slice"))) => {
            let why = format!("a {kind} unit runs no program");
            Err(Failure::new(FailureKind::Usage, format!("--service {name}"), why)
                .advise("name the service that it starts"))
        }
        _ => Ok(format!("{name}.service")),
    }
}

#[derive(Debug)]
struct UnitFile {
    path: PathBuf,
    is_unit: bool,
}

/// The unit file and its drop-ins, in the order in which systemd reads them (systemd.unit(5)): the unit file of that
/// name, or of its template, from the most important directory; then drop-ins by file name, each from the most
/// important directory.
fn files_of(destination: &Destination, unit: &str) -> Vec<UnitFile> {
    let template = unit.split_once('@').map(|(stem, _)| format!("{stem}@.service"));
    let names: Vec<_> = std::iter::once(unit.to_owned()).chain(template).collect();
    let in_directories =
        |name: &str| UNIT_DIRECTORIES.iter().map(|directory| Path::new(directory).join(name)).collect::<Vec<_>>();
    let is_there =
        |path: &PathBuf| destination.real(path, Last::Itself).is_ok_and(|real| real.symlink_metadata().is_ok());
    let mut files = Vec::new();
    if let Some(path) = names.iter().flat_map(|name| in_directories(name)).find(is_there) {
        files.push(UnitFile { path, is_unit: true });
    }
    // Drop-ins apply under each name of a unit.
    let aliases = alias::names_of(destination, unit);
    let mut folders: Vec<String> = names.iter().chain(&aliases).map(|name| format!("{name}.d")).collect();
    // foo-bar-.service.d, foo-.service.d, service.d
    let stem = unit.trim_end_matches(".service");
    folders.extend(stem.match_indices('-').rev().map(|(at, _)| format!("{}.service.d", &stem[..=at])));
    folders.push("service.d".into());
    let mut drop_ins = std::collections::BTreeMap::new();
    for folder in folders.iter().flat_map(|name| in_directories(name)) {
        let entries = destination.real(&folder, Last::Followed).ok().and_then(|real| std::fs::read_dir(real).ok());
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            if Path::new(&name).extension().is_some_and(|extension| extension == "conf") {
                drop_ins.entry(name.clone()).or_insert_with(|| folder.join(name));
            }
        }
    }
    // A drop-in that is a link to /dev/null is disabled.
    let is_on = |path: &PathBuf| destination.real(path, Last::Followed).is_ok_and(|real| real.is_file());
    files.extend(drop_ins.into_values().filter(is_on).map(|path| UnitFile { path, is_unit: false }));
    files
}

/// Whether an environment file sets LD_PRELOAD. A file that can't be read is also unreadable for systemd, or optional.
fn names_preload(destination: &Destination, path: &str) -> bool {
    let real = destination.real(Path::new(path), Last::Followed);
    let text = real.ok().and_then(|real| std::fs::read(real).ok()).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().any(|line| line.trim_start().starts_with("LD_PRELOAD="))
}
