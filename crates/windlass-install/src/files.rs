//! The command and the library, at paths where hook, units and activations find them as long as they are needed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use windlass_journal::trust::changeable_by_others;
use windlass_machine::Failure;
use windlass_machine::loader::preload_library::{FILE_NAME, MULTIARCH, TRACE_FILE_NAME};

use super::destination::{Destination, Last};
use super::plan::{Action, Content, Context, Foreign, NewFile, Plan, Step};
use super::record::{Kind, Record, Target};
use super::text::sha256;

/// The path that the command is copied to.
pub const COMMAND: &str = "/usr/local/bin/windlass";
/// The directory that the library is copied to.
pub const LOCAL: &str = "/usr/local/lib/windlass";

/// The paths of the command and the libraries, and the steps that copy them there.
#[derive(Debug)]
pub struct Files {
    /// The path of the command, in the root.
    pub command_path: PathBuf,
    /// The step that copies the command, if it is needed.
    pub command: Option<Step>,
    /// The path of the library, in the root; None if no program is to load it.
    pub library: Option<PathBuf>,
    /// The same file at the path where this process can open it, before or after copying.
    pub library_file: Option<PathBuf>,
    /// The steps for the library, and for the tracing library beside it.
    pub library_steps: Vec<Step>,
}

impl Files {
    /// Files installed under /usr or /opt, where only root can change them, are used in place. All others (a build
    /// tree, a download) are copied below /usr/local, or into the user's ~/.local: a name in /etc/ld.so.preload or in a
    /// unit must not lead to a place that somebody may clean up, or that anybody but root can write to.
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

/// The steps that copy the library into a directory, and the tracing library if it lies beside it: the copied command
/// looks for both in the same places.
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

/// The path in the root of `own`, if it can be relied upon there.
fn installed(destination: &Destination, record: &Record, own: &Path, candidates: &[PathBuf]) -> Option<PathBuf> {
    if destination.is_machine() {
        // The path without links: each link could be changed as well.
        let real = own.canonicalize().ok()?;
        let lasting = real.starts_with("/usr") || real.starts_with("/opt");
        return (lasting && changeable_by_others(&real, &owners(destination)).is_none()).then_some(real);
    }
    // An image uses its own file, unless that is our copy, which is renewed.
    candidates.iter().find(|path| destination.exists(path) && record.file(path).is_none()).cloned()
}

/// The users who may change the files named in a place: its programs trust them anyway.
fn owners(destination: &Destination) -> Vec<u32> {
    let user = destination.home().map(|_| rustix::process::geteuid().as_raw());
    user.into_iter().chain([0]).collect()
}

/// Fails if an untrusted user can change the file at a path of this machine. The future owner of an image is not known
/// yet.
fn only_root_can_change(destination: &Destination, path: &Path) -> Result<(), Failure> {
    if destination.home().is_some() || !destination.is_machine() {
        return Ok(());
    }
    let real = destination.real(path, Last::Itself)?;
    match changeable_by_others(&real, &owners(destination)) {
        None => Ok(()),
        Some(part) => Err(Failure::other(
            format!("won't use {}", path.display()),
            format!("others than root can change {}", part.display()),
        )
        .advise(format!("chown root {0}; chmod go-w {0}", part.display()))),
    }
}

/// The path of the library in a directory.
pub fn library_in(directory: &Path) -> PathBuf {
    directory.join(FILE_NAME)
}

/// The path of the tracing library in a directory.
pub fn trace_library_in(directory: &Path) -> PathBuf {
    directory.join(TRACE_FILE_NAME)
}

/// The directory that a user's library is copied to.
pub fn of_user(home: &Path) -> PathBuf {
    home.join(".local/lib/windlass")
}

fn user_directory(context: &Context<'_>) -> Result<PathBuf, Failure> {
    let home = context.home.ok_or_else(|| Failure::other("HOME", "not set, or not an absolute path"))?;
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

/// Fails unless a path is safe in shell scripts, units and lists: each has its own quoting.
pub fn safe_in_scripts(path: &Path) -> Result<(), Failure> {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "/._+-".contains(character);
    if path.to_str().is_some_and(|path| path.chars().all(is_safe)) {
        return Ok(());
    }
    Err(Failure::other(
        path.display().to_string(),
        "this path holds characters that scripts, systemd or the loader's list treat specially",
    )
    .advise("install Windlass under a path of letters, digits and /._+-"))
}

/// Adds the step that gives a file this content.
pub fn add(plan: &mut Plan, context: &Context<'_>, record: &Record, file: NewFile<'_>) -> Result<(), Failure> {
    plan.steps.push(file_step(context, record, file)?);
    Ok(())
}

/// The step for one of Windlass's files: to do, already done, or refused because another file is in the way.
fn file_step(context: &Context<'_>, record: &Record, file: NewFile<'_>) -> Result<Step, Failure> {
    let NewFile { target, path, content, mode, lines, why, if_foreign } = file;
    let real = context.destination.real(&path, Last::Itself)?;
    let unreadable = |error: std::io::Error| Failure::other(format!("can't read {}", real.display()), error);
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
                    return Err(Failure::other(real.display().to_string(), by_whom).advise(advice));
                }
            }
        }
        Ok(_) => {
            return Err(Failure::other(real.display().to_string(), "not a regular file")
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
                .map_err(|error| Failure::other(format!("can't read {}", path.display()), error)),
        }
    }
}
