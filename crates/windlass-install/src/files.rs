//! The command and the library, where hook, units and activations will find them for as long as they are needed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use windlass_journal::trust::changeable_by_others;
use windlass_machine::loader::preload_library::{FILE_NAME, MULTIARCH, TRACE_FILE_NAME};
use windlass_machine::{Failure, FailureKind};

use super::destination::{Destination, Last};
use super::plan::{Action, Content, Context, Foreign, NewFile, Plan, Step};
use super::record::{Kind, Record, Target};
use super::text::sha256;

/// Where the command is copied to.
pub const COMMAND: &str = "/usr/local/bin/windlass";
/// The directory that the library is copied to.
pub const LOCAL: &str = "/usr/local/lib/windlass";

/// Where they are, and the steps that bring them there.
#[derive(Debug)]
pub struct Files {
    /// The command, in the root.
    pub command_path: PathBuf,
    /// The step for it.
    pub command: Option<Step>,
    /// The library, in the root; only if something is to load it.
    pub library: Option<PathBuf>,
    /// The file that this will be, or is, as this process opens it.
    pub library_file: Option<PathBuf>,
    /// The steps for it, and for the tracing library beside it.
    pub library_steps: Vec<Step>,
}

impl Files {
    /// Takes what is installed under /usr or /opt, where only root can change it, as it is, and copies what is not (a
    /// build tree, a download) below /usr/local, or into the user's ~/.local: a name in /etc/ld.so.preload or in a unit
    /// must not lead to a place that somebody cleans up, or that somebody but root can write to.
    pub fn find(context: &Context<'_>, record: &Record, system: bool, activates: bool) -> Result<Files, Failure> {
        let destination = context.destination;
        let local = if system { PathBuf::from(LOCAL) } else { user_directory(context)? };
        let mut files = Files {
            command_path: COMMAND.into(),
            command: None,
            library: None,
            library_file: None,
            library_steps: Vec::new(),
        };
        let commands = ["/usr/bin/windlass", COMMAND].map(PathBuf::from);
        let why = "the command that the hook and the units run";
        if system && let Some(path) = installed(destination, record, context.executable, &commands) {
            files.command = Some(Step::there(Target::Command, path.clone(), "is installed", why));
            files.command_path = path;
        } else if system {
            only_root_can_change(destination, Path::new(COMMAND))?;
            let copy = copy(Target::Command, COMMAND.into(), context.executable, 0o755, why);
            files.command = Some(file_step(context, record, copy)?);
        }
        safe_in_scripts(&files.command_path)?;
        if activates {
            let found = (context.library)()?;
            let own = library_in(&local);
            let packaged = [format!("/usr/lib/{MULTIARCH}/windlass"), "/usr/lib/windlass".into()];
            let mut candidates: Vec<_> = packaged.iter().map(|path| Path::new(path).join(FILE_NAME)).collect();
            candidates.push(own.clone());
            let why = "the library that programs load";
            let path = match installed(destination, record, &found, &candidates) {
                Some(path) => {
                    files.library_file = Some(destination.real(&path, Last::Followed)?);
                    files.library_steps.push(Step::there(Target::Library, path.clone(), "is installed", why));
                    path
                }
                None => {
                    files.library_steps = copies(context, record, &found, &local)?;
                    files.library_file = Some(found);
                    own
                }
            };
            safe_in_scripts(&path)?;
            files.library = Some(path);
        }
        Ok(files)
    }
}

/// Copying the library into a directory, and the tracing library that lies beside it, if one does: the copied command
/// looks for both at the same places.
fn copies(context: &Context<'_>, record: &Record, library: &Path, to: &Path) -> Result<Vec<Step>, Failure> {
    let trace = library.with_file_name(TRACE_FILE_NAME);
    let all = [
        (library_in(to), library, "the library that programs load"),
        (trace_library_in(to), &*trace, "the library of `windlass trace`, which no other program loads"),
    ];
    let wanted = all.into_iter().filter(|(_, from, _)| *from == library || from.is_file());
    let step = |(path, from, why): (PathBuf, &Path, &str)| {
        only_root_can_change(context.destination, &path)?;
        file_step(context, record, copy(Target::Library, path, from, 0o644, why))
    };
    wanted.map(step).collect()
}

/// The path in the root of `own` if it can be relied upon there.
fn installed(destination: &Destination, record: &Record, own: &Path, candidates: &[PathBuf]) -> Option<PathBuf> {
    if destination.is_machine() {
        // The path without links, as each of them could be changed as well.
        let real = own.canonicalize().ok()?;
        let lasting = real.starts_with("/usr") || real.starts_with("/opt");
        return (lasting && changeable_by_others(&real, &owners(destination)).is_none()).then_some(real);
    }
    // An image has its own, unless that is our copy, which is renewed.
    candidates.iter().find(|path| destination.exists(path) && record.file(path).is_none()).cloned()
}

/// Those who may change what is named in a place: whoever loads or runs it trusts them anyway.
fn owners(destination: &Destination) -> Vec<u32> {
    let user = destination.home().map(|_| rustix::process::geteuid().as_raw());
    user.into_iter().chain([0]).collect()
}

/// Fails if somebody else can change what will be at a path of this machine. Whose an image is, nobody knows yet.
fn only_root_can_change(destination: &Destination, path: &Path) -> Result<(), Failure> {
    if destination.home().is_some() || !destination.is_machine() {
        return Ok(());
    }
    let real = destination.real(path, Last::Itself)?;
    match changeable_by_others(&real, &owners(destination)) {
        None => Ok(()),
        Some(part) => Err(Failure::new(
            FailureKind::Other,
            format!("won't use {}", path.display()),
            format!("others than root can change {}", part.display()),
        )
        .advise(format!("chown root {0}; chmod go-w {0}", part.display()))),
    }
}

/// The library in a directory.
pub fn library_in(directory: &Path) -> PathBuf {
    directory.join(FILE_NAME)
}

/// The tracing library in a directory.
pub fn trace_library_in(directory: &Path) -> PathBuf {
    directory.join(TRACE_FILE_NAME)
}

/// The directory that a user's library is copied to.
pub fn of_user(home: &Path) -> PathBuf {
    home.join(".local/lib/windlass")
}

fn user_directory(context: &Context<'_>) -> Result<PathBuf, Failure> {
    let home =
        context.home.ok_or_else(|| Failure::new(FailureKind::Other, "HOME", "not set, or not an absolute path"))?;
    Ok(of_user(&home.path))
}

fn copy<'a>(target: Target, path: PathBuf, from: &Path, mode: u32, why: &'a str) -> NewFile<'a> {
    NewFile {
        target,
        path,
        content: Content::Of(from.to_owned()),
        mode,
        lines: Vec::new(),
        why,
        if_foreign: Foreign::Refuse(
            "another version was put there by other means: run that one's `install`, or remove it first",
        ),
    }
}

/// The paths go into shell scripts, units and lists, each with quotes of its own kind.
pub fn safe_in_scripts(path: &Path) -> Result<(), Failure> {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "/._+-".contains(character);
    if path.to_str().is_some_and(|path| path.chars().all(is_safe)) {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Other,
        path.display().to_string(),
        "this path holds characters that scripts, systemd or the loader's list treat specially",
    )
    .advise("install Windlass under a path of letters, digits and /._+-"))
}

/// Adds the step for a file that is to have this content.
pub fn add(plan: &mut Plan, context: &Context<'_>, record: &Record, file: NewFile<'_>) -> Result<(), Failure> {
    plan.steps.push(file_step(context, record, file)?);
    Ok(())
}

/// The step for a file of ours: to do, or there already, or in the way.
fn file_step(context: &Context<'_>, record: &Record, file: NewFile<'_>) -> Result<Step, Failure> {
    let NewFile { target, path, content, mode, lines, why, if_foreign } = file;
    let real = context.destination.real(&path, Last::Itself)?;
    let unreadable =
        |error: std::io::Error| Failure::new(FailureKind::Other, format!("can't read {}", real.display()), error);
    let wanted = content.read()?;
    let create = match &content {
        Content::Bytes(_) => "create".to_owned(),
        Content::Of(from) => format!("copy from {}", from.display()),
    };
    let what = match std::fs::symlink_metadata(&real) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => create,
        Err(error) => return Err(unreadable(error)),
        Ok(metadata) if metadata.is_file() => {
            let now = std::fs::read(&real).map_err(unreadable)?;
            let recorded = record.file(&path).map(|change| &change.kind);
            let is_ours = || matches!(recorded, Some(Kind::File { sha256: then, .. }) if then.contains(&sha256(&now)));
            match if_foreign {
                _ if *now == *wanted => return Ok(Step::there(target, path, "is there already", why)),
                _ if is_ours() => "replace our earlier version".to_owned(),
                Foreign::Keep if recorded.is_some() => {
                    return Ok(Step::there(
                        target,
                        path,
                        "was changed after windlass put it there, so it is kept",
                        why,
                    ));
                }
                Foreign::Keep => {
                    return Ok(Step::there(target, path, "is there with other content, so it is kept", why));
                }
                Foreign::Refuse(advice) => {
                    let by_whom = if recorded.is_some() {
                        "changed since windlass put it there"
                    } else {
                        "not made by `windlass install`"
                    };
                    return Err(Failure::new(FailureKind::Other, real.display().to_string(), by_whom).advise(advice));
                }
            }
        }
        Ok(_) => {
            return Err(Failure::new(FailureKind::Other, real.display().to_string(), "not a regular file")
                .advise("windlass needs a file of that name: move away what is there, and run this again"));
        }
    };
    Ok(Step::to_do(target, path, what, why, Action::File { content, mode, lines }))
}

impl Content {
    /// The bytes.
    pub fn read(&self) -> Result<std::borrow::Cow<'_, [u8]>, Failure> {
        match self {
            Content::Bytes(bytes) => Ok(bytes.into()),
            Content::Of(path) => std::fs::read(path)
                .map(Into::into)
                .map_err(|error| Failure::new(FailureKind::Other, format!("can't read {}", path.display()), error)),
        }
    }
}
