//! Arguments and help of `windlass install` and `windlass uninstall`.

use std::path::PathBuf;

use clap::Args;

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

pub const INSTALL_ABOUT: &str = "\
Keep this machine's compiled stores fresh, and on request make programs load the preload library.

Always installed: a hook of update-ca-certificates that runs `windlass compile`, and systemd units that do the same \
after edits that bypass the hook. With --shell alone neither is installed: that concerns only one user.

The plan is printed first: each path, the change there, and the reason. Then you are asked whether to carry it out. \
If nobody can be asked (standard input or output is not a terminal, or --json is given), it is carried out only with \
--yes. `windlass uninstall` undoes all of it, even if this command was interrupted; running it again completes it. \
Files of earlier Windlass versions are replaced; files that others created or changed are kept.";

pub const INSTALL_HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass install --dry-run", "print what would be done, and why"),
            Example("windlass install", "hook and units"),
            Example("windlass install --service nginx", "also make nginx load the library when it next starts"),
            Example("windlass install --shell", "make your programs load it after your next login"),
            Example("windlass install --machine", "make every program of this machine load it"),
            Example("windlass install --root /srv/image --machine --yes", ""),
        ],
    ),
    section(
        "",
        &[
            Text(
                "The library is tried before anything is configured to load it: some programs are run with it, and \
             must print nothing. With --root as root, these are programs of the image, run as root (chroot). \
             Skip them with --no-try if you don't trust the image.",
            ),
            Text(
                "A command or library that is not below /usr or /opt, or that users other than root can change, is \
             copied to /usr/local (with --shell: ~/.local/lib/windlass), together with the library of `windlass \
             trace` that lies beside it.",
            ),
        ],
    ),
    section(
        "Environment",
        &[
            Item("WINDLASS_PRELOAD_LIBRARY", "The library to use, instead of the one installed with windlass."),
            Item(
                "SHELL, HOME, ZDOTDIR, XDG_CONFIG_HOME, XDG_STATE_HOME",
                "For --shell. HOME must be yours, and the directories must be below it.",
            ),
        ],
    ),
    section(
        "Files",
        &[
            Item("/var/lib/windlass/install.json", "The record of what was done."),
            Item(
                "~/.local/state/windlass/install.json",
                "The same for --shell; windlass/install.json in XDG_STATE_HOME, if that is set.",
            ),
        ],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object, also for --shell with --machine, printed before anything is done:"),
            SCHEMA,
            Item("root", "the directory that is installed into"),
            Item("dry_run", "whether the command stops there"),
            List(
                "steps",
                "in order, each with",
                &[
                    Item(
                        "target",
                        "\"command\", \"library\", \"upkeep\", \"machine\", \"shell\" or {\"service\": name}",
                    ),
                    Item("path", "in the root; or the command that is run"),
                    Item("what", "the change, for people"),
                    Item("why", "the reason, for people"),
                    Item("to_do", "false if it is already done"),
                ],
            ),
            Item("notes", "what is left out, and what remains to be done by hand, for people"),
        ],
    ),
];

pub const UNINSTALL_ABOUT: &str = "\
Undo what `windlass install` did: all of it, or only the given activations.

Files that it created are removed, and files that it changed get their earlier content back. If somebody has changed \
a file since, only the line or block of Windlass is removed from it. References to the library are removed before the \
library. The plan is printed first, then you are asked. If nobody can be asked (standard input or output is not a \
terminal, or --json is given), it is carried out only with --yes.

For root, everything means the installation of the machine, without any user's shell; root's own shell is undone with \
--shell. Files installed by a package are left to the package manager. A record that somebody else wrote or could \
have written is refused.";

pub const UNINSTALL_HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass uninstall --dry-run", "print what would be done"),
            Example("windlass uninstall", "undo everything"),
            Example("windlass uninstall --service nginx", "undo one service, and keep the rest"),
            Example("windlass uninstall --root /srv/image --yes", ""),
        ],
    ),
    section(
        "",
        &[Text(
            "Running programs keep the library until they end. Activated services and sessions pass LD_PRELOAD \
             on to the programs they start, and the loader then prints an error about the missing library. \
             Restart these services, and log in again.",
        )],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object, printed before anything is done:"),
            SCHEMA,
            Item("root", "the directory that is uninstalled from"),
            Item("dry_run", "whether the command stops there"),
            List(
                "steps",
                "in order, each with",
                &[
                    Item("target", "as in `windlass install --json`"),
                    Item("path", "in the root"),
                    Item("what", "the change, for people"),
                ],
            ),
        ],
    ),
];

/// Arguments of `windlass install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Make every program of the machine load the library (/etc/ld.so.preload)
    #[arg(long)]
    pub machine: bool,

    /// Make a systemd service load the library (repeatable)
    #[arg(long, value_name = "NAME")]
    pub service: Vec<String>,

    /// Make programs of your login shell load the library
    ///
    /// Without a value, the shell is that of the variable SHELL.
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with = "root")]
    pub shell: Option<String>,

    /// Do not try the library before programs are made to load it
    #[arg(long)]
    pub no_try: bool,

    /// Options that install and uninstall share.
    #[command(flatten)]
    pub how: HowArgs,
}

/// Arguments of `windlass uninstall`.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Undo only --machine
    #[arg(long)]
    pub machine: bool,

    /// Undo only the activation of a systemd service (repeatable)
    #[arg(long, value_name = "NAME")]
    pub service: Vec<String>,

    /// Undo only the activation of your login shell
    #[arg(long, conflicts_with = "root")]
    pub shell: bool,

    /// Options that install and uninstall share.
    #[command(flatten)]
    pub how: HowArgs,
}

/// Options that install and uninstall share.
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Print the plan, and change nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    /// Do not ask; required if nobody can be asked
    #[arg(long, short)]
    pub yes: bool,

    /// Work in DIR, the root of an image, without calling systemd
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,

    /// Print the plan as JSON; with --yes, carry it out
    #[arg(long)]
    pub json: bool,
}
