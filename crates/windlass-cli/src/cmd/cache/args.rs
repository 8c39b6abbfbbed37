//! Arguments and help of `windlass cache`.

use clap::{Args, Subcommand};

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

pub const HELP: &[Section] = &[section(
    "Examples",
    &[
        Example("windlass cache status", ""),
        Example("windlass cache status --json | jq -r '.directories[].stores[].file'", ""),
        Example("windlass cache clear", ""),
    ],
)];

const STATUS_ABOUT: &str = "\
Show the directory in which this user's programs look for compiled stores, and the stores in it: their source, \
whether they are used, and if not, why.

A compiled store is used while its source is unchanged. In /var/cache/windlass it is only trusted if the store, its \
directory and all directories above belong to root. In the directory of WINDLASS_STORE, the store and its directory \
may also belong to this user. Nobody else may be able to write to them.";

pub const STATUS_HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass cache status", ""),
            Example("WINDLASS_STORE=/srv/app/trust windlass cache status --json", ""),
        ],
    ),
    section("Environment", &[Item("WINDLASS_STORE", "The directory to show, instead of /var/cache/windlass.")]),
    section(
        "Output of --json",
        &[
            Text("One JSON object:"),
            SCHEMA,
            List(
                "directories",
                "in the order in which programs look, each with",
                &[
                    Item("directory", "its path"),
                    Item(
                        "state",
                        "\"present\", \"absent\", \"distrusted\" (its stores are not used) or \"unreadable\"",
                    ),
                    Item("detail", "more about the state, for people, or null"),
                    List(
                        "stores",
                        "each with",
                        &[
                            Item("file", "path of the compiled store"),
                            Item(
                                "kind",
                                "of the source: \"cafile\" or \"capath\"; this field and the next five are null if the \
                     compiled store can't be read",
                            ),
                            Item("path", "of the source"),
                            Item("anchors", "number of certificates"),
                            Item("bytes", "size of the compiled store"),
                            Item("files", "of the source"),
                            Item("source_bytes", "size of these files"),
                            Item("written", "RFC 3339, UTC"),
                            Item("age_seconds", "time since then"),
                            Item(
                                "state",
                                "\"fresh\"; \"fresh-by-content\": used, after the source was read; \"stale\": the \
                                 source has \
                     changed; \"distrusted\": somebody else could have written it; \"malformed\"; \
                     \"other-version\": of another version of Windlass; \"unreadable\"",
                            ),
                            Item("detail", "more about the state, for people, or null"),
                        ],
                    ),
                ],
            ),
        ],
    ),
];

const CLEAR_ABOUT: &str = "\
Remove the compiled stores that `windlass compile` wrote: those in the directory of WINDLASS_STORE, or else, as root, \
in /var/cache/windlass.

Programs then use the sources themselves.";

pub const CLEAR_HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass cache clear", ""),
            Example("WINDLASS_STORE=/srv/app/trust windlass cache clear --json", ""),
        ],
    ),
    section("Environment", &[Item("WINDLASS_STORE", "The directory to clear, instead of /var/cache/windlass.")]),
    section(
        "Output of --json",
        &[
            Text("One JSON object:"),
            SCHEMA,
            Item("directory", "the directory that was cleared"),
            Item("removed", "paths of the compiled stores"),
            Item("leftovers", "paths of removed files that an interrupted `windlass compile` had left"),
        ],
    ),
];

/// Arguments of `windlass cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: CacheCommand,
}

/// The subcommands of `windlass cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Show the compiled stores, and whether they are used
    #[command(long_about = STATUS_ABOUT)]
    Status(OutputArgs),
    /// Remove the compiled stores
    #[command(long_about = CLEAR_ABOUT)]
    Clear(OutputArgs),
}

/// How the result is printed.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}
