//! Arguments and help of `windlass install` and `windlass uninstall`.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;

/// What `windlass install --help` begins with.
pub const INSTALL_ABOUT: &str = "\
Keep this machine's compiled stores fresh, and on request make programs load the preload library.

Always: a hook of update-ca-certificates that runs `windlass compile`; systemd units that do so after edits that bypass it. \
With --shell alone neither is touched: that is a user's own affair.

The plan is shown first: each path, what happens there, and why. Then you are asked whether to carry it out. Where nobody can be \
asked (standard input or output is no terminal, or --json), it is carried out with --yes only. All of it is undone by \
`windlass uninstall`, also if this command was interrupted; running it again completes it. Our earlier versions are replaced; what others made or changed stays.";

const INSTALL_HELP: &str = "\
Examples:
  windlass install --dry-run            what would be done, and why
  windlass install                      hook and units
  windlass install --service nginx      and nginx loads the library, from its next start on
  windlass install --shell              your programs do, from your next login on
  windlass install --machine            every program of this machine does
  windlass install --root /srv/image --machine --yes

The library is tried before anything is told to load it: programs are run with it, and must print
nothing. With --root as root these are programs of the image, run as root (chroot): leave that out
with --no-try for an image of people whom you would not let do that.

A command or a library that is not below /usr or /opt, or that others than root can change, is
copied to /usr/local (--shell: ~/.local/lib/windlass), and with it the library of `windlass trace`
that lies beside it.

Environment:
  WINDLASS_PRELOAD_LIBRARY
          the library to use, instead of the one installed with windlass
  SHELL, HOME, ZDOTDIR, XDG_CONFIG_HOME, XDG_STATE_HOME
          for --shell; HOME must be yours, and the directories must be below it

What was done is recorded in /var/lib/windlass/install.json; for --shell in windlass/install.json in
XDG_STATE_HOME or ~/.local/state.

Output of --json, one object, also for --shell with --machine, before anything is done:
  schema   1; a larger number means a change that readers must know of
  root     the directory installed into
  dry_run  whether it ends there
  steps    in order, each with
    target   \"command\", \"library\", \"upkeep\", \"machine\", \"shell\" or {\"service\": name}
    path     in the root; what is run, where that is no path
    what     happens there, for people
    why      for people
    to_do    false: it is there already
  notes    what is left out, and what is left to do by hand, for people
";

/// What `windlass uninstall --help` begins with.
pub const UNINSTALL_ABOUT: &str = "\
Undo what `windlass install` did: all of it, or the activations that are named.

Files that were made are removed, files that were changed get their bytes back. Where somebody has changed a file since, only our \
line or block is taken out of it. Names of the library go before the library. The plan is shown first, and you are \
asked; where nobody can be asked (standard input or output is no terminal, or --json), it is carried out with --yes only.

For root, all is what concerns the machine, and no user's shell; root's own shell is undone with --shell. What a package installed \
is the package manager's to remove. A record that somebody else has written or could have written is refused.";

const UNINSTALL_HELP: &str = "\
Examples:
  windlass uninstall --dry-run
  windlass uninstall                    everything
  windlass uninstall --service nginx    the rest stays
  windlass uninstall --root /srv/image --yes

Programs that run go on with the library until they end. Services and sessions that were activated
hand LD_PRELOAD on to what they start, and the loader then prints an error about a library that is
gone: restart such services, and log in anew.

Output of --json, one object, before anything is done:
  schema   1; a larger number means a change that readers must know of
  root     the directory uninstalled from
  dry_run  whether it ends there
  steps    in order, each with
    target  as in `windlass install --json`
    path    in the root
    what    happens there, for people
";

/// Arguments of `windlass install`.
#[derive(Debug, Args)]
#[command(after_long_help = format!("{INSTALL_HELP}\n{}", Exit::help_of("install")))]
pub struct InstallArgs {
    /// Make every program of the machine load the library (/etc/ld.so.preload)
    #[arg(long)]
    pub machine: bool,

    /// Make a systemd service load the library (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub service: Vec<String>,

    /// Make your login shell, and so your programs, load the library; SHELL if none is named
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with = "root")]
    pub shell: Option<String>,

    /// Run nothing with the library before it is named
    #[arg(long)]
    pub no_try: bool,

    /// How, and where.
    #[command(flatten)]
    pub how: HowArgs,
}

/// Arguments of `windlass uninstall`.
#[derive(Debug, Args)]
#[command(after_long_help = format!("{UNINSTALL_HELP}\n{}", Exit::help_of("uninstall")))]
pub struct UninstallArgs {
    /// Only the activation of the machine
    #[arg(long)]
    pub machine: bool,

    /// Only the activation of a systemd service (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub service: Vec<String>,

    /// Only the activation of your login shell
    #[arg(long, conflicts_with = "root")]
    pub shell: bool,

    /// How, and where.
    #[command(flatten)]
    pub how: HowArgs,
}

/// What both have.
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Show the plan, and do nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    /// Don't ask; needed where nobody can be asked
    #[arg(long, short)]
    pub yes: bool,

    /// Work in DIR, which becomes the root of an image; nothing is said to systemd
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,

    /// Show the plan as JSON; with --yes it is carried out
    #[arg(long)]
    pub json: bool,
}
