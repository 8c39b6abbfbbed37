//! Activation for one user's login shells: a block in the profile.

use std::path::{Path, PathBuf};

use windlass_machine::{Failure, FailureKind};

use super::destination::Home;
use super::disk;
use super::plan::{Action, Content, Context, Foreign, NewFile, Plan, Step};
use super::record::{Mark, Record, Target};
use super::text::{BEGIN, END, with_block};

/// The profiles that get the block, if they exist.
pub const PROFILES: [&str; 4] = [".bash_profile", ".bash_login", ".profile", ".zprofile"];
/// The file for fish, relative to the configuration directory.
pub const FISH: &str = "fish/conf.d/windlass.fish";

const BY: &str = "Put here by `windlass install --shell`, removed by `windlass uninstall`.";

/// Plans the block for a shell, named as in SHELL.
pub fn plan(
    plan: &mut Plan,
    context: &Context<'_>,
    record: &Record,
    shell: &str,
    home: &Home,
    library: &Path,
) -> Result<(), Failure> {
    let why = "your programs load the library, from the next login on";
    let name = Path::new(shell).file_name().unwrap_or_default().to_string_lossy();
    let path = match &*name {
        "sh" | "dash" | "ash" | "ksh" | "ksh93" | "mksh" => home.path.join(".profile"),
        "bash" => bash(home),
        "zsh" => {
            let directory = std::env::var_os("ZDOTDIR").map_or(home.path.clone(), PathBuf::from);
            below_home(home, directory.join(".zprofile"))?
        }
        "fish" => {
            let path = below_home(home, home.config.join(FISH))?;
            let line = fish(library);
            let content = Content::Bytes(format!("# {BY}\n{line}\n").into_bytes());
            let if_foreign = Foreign::Refuse("remove or rename that file, and run this again");
            let target = Target::Shell;
            return super::files::add(
                plan,
                context,
                record,
                NewFile { target, path, content, mode: 0o644, lines: vec![line], why, if_foreign },
            );
        }
        other => {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("--shell: {other:?}"),
                "not a shell that windlass knows",
            )
            .advise("name one: --shell=sh, bash, zsh or fish")
            .advise("for another, set LD_PRELOAD to the path of the library in its start-up file"));
        }
    };
    let now = disk::read_to_edit(context.destination, &path)?;
    let before = now.as_deref().map(|text| Mark::Block.taken_out_of(text).unwrap_or_else(|| text.to_vec()));
    let after = with_block(before.as_deref().unwrap_or_default(), &block(library));
    let is_there = now.as_deref().is_some_and(|now| String::from_utf8_lossy(now).contains(&block(library)));
    plan.steps.push(if is_there {
        Step::there(Target::Shell, path, "has the block already", why)
    } else {
        let what = if before.is_some() { "add a marked block" } else { "create, with a marked block" };
        Step::to_do(Target::Shell, path, what, why, Action::Edit { now, before, after, mark: Mark::Block })
    });
    Ok(())
}

/// The first existing profile of bash, in the order of bash(1): a new file of ours would hide those after it.
fn bash(home: &Home) -> PathBuf {
    let names = [".bash_profile", ".bash_login", ".profile"].map(|name| home.path.join(name));
    names.iter().find(|path| path.symlink_metadata().is_ok()).unwrap_or(&names[2]).clone()
}

/// Fails for a path outside HOME, which may belong to another user.
fn below_home(home: &Home, path: PathBuf) -> Result<PathBuf, Failure> {
    if path.starts_with(&home.path) && !path.components().any(|part| part == std::path::Component::ParentDir) {
        return Ok(path);
    }
    let what = format!("won't change {}", path.display());
    Err(Failure::other(what, "it is not below HOME")
        .advise("set LD_PRELOAD there yourself, or unset ZDOTDIR and XDG_CONFIG_HOME"))
}

/// The block for Bourne-like shells. A missing library must not be named: the loader would print an error in every
/// program.
fn block(library: &Path) -> String {
    let library = library.display();
    format!(
        "{BEGIN}
if [ -r {library} ]; then
    case \":${{LD_PRELOAD-}}:\" in
        *[:\\ ]{library}[:\\ ]*) ;;
        *) LD_PRELOAD={library}${{LD_PRELOAD:+:$LD_PRELOAD}}; export LD_PRELOAD ;;
    esac
fi
{END}
"
    )
}

/// The same for fish, on one line.
fn fish(library: &Path) -> String {
    let library = library.display();
    format!(
        "test -r {library}; and not string match -q -- '*{library}*' \"$LD_PRELOAD\"; \
         and set -gx LD_PRELOAD (string join : {library} $LD_PRELOAD)"
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The value of LD_PRELOAD after a shell has read the block. env -i keeps the variable from the shell itself.
    fn after(library: &Path, before: Option<&str>) -> String {
        let set = before.map(|value| format!("LD_PRELOAD='{value}'\n")).unwrap_or_default();
        let script =
            format!("{set}{}printf %s \"${{LD_PRELOAD-unset}}\"", block(library).replace("; export LD_PRELOAD", ""));
        let output = Command::new("sh").arg("-euc").arg(script).env_clear().output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn the_block_keeps_what_is_set_and_does_nothing_without_the_library() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("lib.so");
        assert_eq!(after(&library, None), "unset");
        assert_eq!(after(&library, Some("/other.so")), "/other.so");
        std::fs::write(&library, "").unwrap();
        let name = library.to_str().unwrap();
        assert_eq!(after(&library, None), name);
        assert_eq!(after(&library, Some("/other.so")), format!("{name}:/other.so"));
        for there in [name.to_owned(), format!("/a.so:{name}"), format!("/a.so {name} /b.so"), format!("{name}:/b.so")]
        {
            assert_eq!(after(&library, Some(&there)), there);
        }
    }

    #[test]
    fn bash_reads_the_first_profile_that_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home { path: directory.path().into(), config: "/".into(), state: "/".into() };
        assert!(bash(&home).ends_with(".profile"));
        std::fs::write(home.path.join(".profile"), "").unwrap();
        std::fs::write(home.path.join(".bash_login"), "").unwrap();
        assert!(bash(&home).ends_with(".bash_login"));
    }
}
