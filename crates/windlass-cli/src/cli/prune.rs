//! Arguments and help of `windlass prune`.

use std::path::PathBuf;

use clap::Args;

pub const ABOUT: &str = "\
Take away what is superfluous in .NET stores and hashed directories: certificates that have expired, that are there twice, or \
that were made for a test and have a newer one of the same name; and links that lead nowhere.

The plan is shown first. Then you are asked whether to carry it out. Where nobody can be asked (standard input or output is no \
terminal, or --json), it is carried out with --yes only. What goes is moved to a backup, with its mode, owner and times, and \
--undo puts it back, also if this command was interrupted.

Without PATH: the .NET stores of your home; for root those of all homes, and the default hashed directories of OpenSSL. \
With --root, all of those in the image below DIR.";

pub const HELP: &str = "\
Examples:
  windlass prune --dry-run              what would go, and why
  windlass prune                        shows that, and asks
  windlass prune --list                 what went earlier
  windlass prune --undo --yes           puts the last back
  windlass prune --tests --dry-run ~/.dotnet/corefx/cryptography/x509stores
  windlass prune --root /mnt/image --dry-run

Left alone, with a note that says what to do instead: what belongs to a package, what
update-ca-certificates or update-ca-trust would make again, certificates that are no authority in a
hashed directory (a server may use the file), and without --force the last anchors of a hashed
directory, and one in which most leads nowhere. What somebody has changed since the plan was shown
stays too. Files of several certificates, and so bundles, are never touched.

A hashed directory of an image has links that are meant for its inside: here they lead nowhere, or
to files of this machine. So name the image with --root; each PATH is then a path in it, links
included, and nothing of the image is run. The plan and the backup have the paths of this machine.

Backups go to /var/backups/windlass for root; else to windlass/pruned in XDG_DATA_HOME or
~/.local/share. They are yours to remove when nobody misses anything. Keys of certificates are in
there too: only their owner can look into it.

Environment:
  XDG_DATA_HOME, HOME
          where the .NET stores and backups of a user are

Output of --json, one object, before anything is done:
  schema   1; a larger number means a change that readers must know of
  dry_run  whether it ends there
  stores   each directory that was looked through, with
    path     without links
    kind     \"dotnet-store\" or \"hashed-directory\"
    items    what goes: {name, reason, certificate}; certificate is a name for people, or null
    kept     certificates that stay
    refused  true: nothing goes, as no anchor would be left or most leads nowhere (see --force);
             the exit status is 1
  notes    what is not done: {path, what, remedy}, for people
With --undo, instead of stores and notes:
  backup   its name, or null if there is none
  steps    in order: {path, what, certificate}
With --list:
  backups  the oldest first: {name, made, finished, entries}; each entry has directory, kind, name,
           saved (its name in the backup), reason, certificate, row (the first number of its row of
           hash links) and seen: {target, mode, uid, gid, size, mtime, atime, sha256}
A name that is no UTF-8 is written as {hex}.
";

/// Arguments of `windlass prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// .NET stores (or x509stores, for all in it) and hashed directories
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["undo", "list"])]
    pub paths: Vec<PathBuf>,

    /// Show the plan, and do nothing
    #[arg(long, short = 'n', conflicts_with = "list")]
    pub dry_run: bool,

    /// Don't ask; needed where nobody can be asked
    #[arg(long, short, conflicts_with = "list")]
    pub yes: bool,

    /// Take away test certificates also if they are valid and the only ones of their name
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub tests: bool,

    /// Take away also the last anchors of a hashed directory, or most of it
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub force: bool,

    /// Look into the image below DIR
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["undo", "list"])]
    pub root: Option<PathBuf>,

    /// Put back what was taken away last, or by the named prune
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub undo: Option<String>,

    /// List the backups
    #[arg(long, conflicts_with = "undo")]
    pub list: bool,

    /// Keep backups in DIR
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub backups: Option<PathBuf>,

    /// Print everything as JSON; with --yes the plan is carried out
    #[arg(long)]
    pub json: bool,
}
