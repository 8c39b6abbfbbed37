//! Arguments and help of `windlass prune`.

use std::path::PathBuf;

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

use clap::Args;

pub const ABOUT: &str = "\
Remove superfluous certificates from .NET stores and hashed directories: expired certificates, duplicates, and \
dangling links; with --tests, test certificates too. A valid certificate is not superfluous because another one has \
its name.

The plan is printed first, then you are asked whether to carry it out. If nobody can be asked (standard input or \
output is not a terminal, or --json is given), it is carried out only with --yes. Removed files are moved to a \
backup, with their mode, owner and times. --undo puts them back, even if this command was interrupted.

Without PATH, prune the .NET stores in your home directory; as root, those in all home directories and OpenSSL's \
default hashed directories. With --root, prune all of these in the image in DIR.";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass prune --dry-run", "print what would be removed, and why"),
            Example("windlass prune", "print that, ask, and remove"),
            Example("windlass prune --list", "list earlier backups"),
            Example("windlass prune --undo --yes", "undo the last prune"),
            Example("windlass prune --tests --dry-run ~/.dotnet/corefx/cryptography/x509stores", ""),
            Example("windlass prune --root /mnt/image --dry-run", ""),
        ],
    ),
    section(
        "",
        &[
            Text(
                "These are left in place, with a note that names an alternative: files of a package; files that \
             update-ca-certificates or update-ca-trust would create again; certificates in a hashed directory \
             that are not a CA (a server may use the file); and without --force, the last anchors of a hashed \
             directory, and a directory in which most links dangle. Files that were changed since the plan was \
             printed are left in place, too. Files with several certificates, which includes bundles, are never \
             touched.",
            ),
            Text(
                "Links in a hashed directory of an image are meant to be read inside the image. From here they \
             dangle, or lead to files of this machine. Use --root for an image: each PATH is then a path in the \
             image, symbolic links are resolved within it, and no program of the image is run. The plan and the \
             backup have the paths of this machine.",
            ),
            Text(
                "Delete a backup once you are sure that nothing is missing. Backups also hold the keys of \
                 certificates; only their owner can read them.",
            ),
        ],
    ),
    section("Environment", &[Item("XDG_DATA_HOME, HOME", "Where a user's .NET stores and backups are.")]),
    section(
        "Files",
        &[
            Item("/var/backups/windlass", "Backups of root."),
            Item(
                "~/.local/share/windlass/pruned",
                "Backups of other users; windlass/pruned in XDG_DATA_HOME, if that is set.",
            ),
        ],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object, printed before anything is done:"),
            SCHEMA,
            Item("dry_run", "whether the command stops there"),
            List(
                "stores",
                "each directory that was searched, with",
                &[
                    Item("path", "without links"),
                    Item("kind", "\"dotnet-store\" or \"hashed-directory\""),
                    Item(
                        "items",
                        "what is removed: {name, reason, certificate, key}; certificate is a name for people, and key \
                         the SHA-1 of the public key, which most certificates have as their subject key identifier; \
                         both are null for a dangling link",
                    ),
                    Item("kept", "number of certificates that stay"),
                    Item(
                        "namesakes",
                        "those that stay and have the certificate name of an item, but another key: {certificate, key}",
                    ),
                    Item(
                        "refused",
                        "true: nothing is removed, because no anchor would be left or most links dangle (see --force); \
                 the exit status is 1",
                    ),
                ],
            ),
            Item("notes", "what is left in place: {path, what, remedy}, for people"),
            Text("With --undo, instead of stores and notes:"),
            Item("backup", "its name, or null if there is none"),
            Item("steps", "in order: {path, what, certificate}"),
            Text("With --list:"),
            Item(
                "backups",
                "oldest first: {name, made, finished, entries}; each entry has directory, kind, name, saved (its \
             name in the backup), reason, certificate, row (the first number of its row of hash links) and seen: \
             {target, mode, uid, gid, size, mtime, atime, sha256}",
            ),
            Text("A name that is not UTF-8 is written as {hex}."),
        ],
    ),
];

/// Arguments of `windlass prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// .NET stores and hashed directories
    ///
    /// A directory named x509stores stands for all stores in it.
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["undo", "list"])]
    pub paths: Vec<PathBuf>,

    /// Print the plan, and change nothing
    #[arg(long, short = 'n', conflicts_with = "list")]
    pub dry_run: bool,

    /// Do not ask; required if nobody can be asked
    #[arg(long, short, conflicts_with = "list")]
    pub yes: bool,

    /// Remove test certificates too, even if they are valid
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub tests: bool,

    /// Remove the last anchors or most files of a hashed directory, too
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub force: bool,

    /// Prune the image in DIR instead of this machine
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["undo", "list"])]
    pub root: Option<PathBuf>,

    /// Restore the backup WHICH, or the newest one
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub undo: Option<String>,

    /// List the backups
    #[arg(long, conflicts_with = "undo")]
    pub list: bool,

    /// Use DIR for backups
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub backups: Option<PathBuf>,

    /// Print JSON; with --yes, the plan is carried out
    #[arg(long)]
    pub json: bool,
}
