//! `windlass completions`.

use std::process::ExitCode;

use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use windlass_machine::Failure;

use crate::cli;
use crate::help::Block::Example;
use crate::help::{Section, section};
use crate::output::stdout;

/// What `--help` prints behind the options.
pub const HELP: &[Section] = &[section(
    "Examples",
    &[
        Example("windlass completions bash > ~/.local/share/bash-completion/completions/windlass", ""),
        Example("windlass completions fish > ~/.config/fish/completions/windlass.fish", ""),
    ],
)];

/// Arguments of `windlass completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that will read the script
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Behind some subcommands stands a command with arguments of its own, for which Bash knows best what may follow.
/// clap_complete offers nothing there.
const BASH: &str = r#"
_windlass_or_command() {
    local valued at=2 named=
    case "${COMP_WORDS[1]}" in
@CASES@        *)
            _windlass "$@"
            return
            ;;
    esac
    while (( at < COMP_CWORD )); do
        case "${COMP_WORDS[at]}" in
            --)
                named=1
                (( at += 1 ))
                break
                ;;
            =)
                (( at += 2 ))
                ;;
            -*)
                if [[ "$valued" == *" ${COMP_WORDS[at]} "* && "${COMP_WORDS[at + 1]}" != = ]]; then
                    (( at += 1 ))
                fi
                (( at += 1 ))
                ;;
            *)
                break
                ;;
        esac
    done
    if (( at > COMP_CWORD )) || [[ -z "$named" && "$at" -eq "$COMP_CWORD" && "${COMP_WORDS[at]}" == [-=]* ]]; then
        _windlass "$@"
    elif declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$at"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$at"
    elif (( at == COMP_CWORD )); then
        COMPREPLY=( $(compgen -c -- "${COMP_WORDS[COMP_CWORD]}") )
    else
        COMPREPLY=( $(compgen -f -- "${COMP_WORDS[COMP_CWORD]}") )
    fi
}

"#;

/// Prints the completion script of a shell.
pub fn run(arguments: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut definition = visible(&cli::definition()).propagate_version(true);
    let commands = bash_cases(&definition);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut definition, "windlass", &mut script);
    if arguments.shell != Shell::Bash {
        return stdout::write(&script);
    }
    let script = String::from_utf8(script).map_err(|error| Failure::other("completions", error))?;
    // Its last lines tell Bash which function to ask.
    let (functions, registration) = script.split_at(script.rfind("\nif [[").unwrap_or(script.len()));
    let registration = registration.replace("complete -F _windlass ", "complete -F _windlass_or_command ");
    let ours = BASH.replace("@CASES@", &commands);
    stdout::write(format!("{functions}{ours}{}", registration.trim_start()).as_bytes())
}

/// The same without what is hidden: clap_complete offers that, too.
fn visible(command: &Command) -> Command {
    let mut shown = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).map(visible));
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        shown = shown.version(version.to_owned());
    }
    shown
}

/// Of each subcommand that is followed by a command: the options that take the next word.
fn bash_cases(definition: &Command) -> String {
    let takes_command = |command: &&Command| {
        command.get_positionals().any(|argument| argument.get_value_hint() == ValueHint::CommandWithArguments)
    };
    let takes_next = |argument: &&Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
    let case = |command: &Command| {
        let options = command.get_opts().filter(takes_next).filter_map(Arg::get_long);
        let options: String = options.map(|name| format!(" --{name}")).collect();
        format!("        {})\n            valued='{options} '\n            ;;\n", command.get_name())
    };
    definition.get_subcommands().filter(takes_command).map(case).collect()
}
