//! Arguments and help of `windlass cache`.

use clap::{Args, Subcommand};

use crate::exit::Exit;

pub const HELP: &str = "\
Examples:
  windlass cache status
  windlass cache status --json | jq -r '.directories[].stores[] | select(.state != \"fresh\") | .file'
  windlass cache clear
";

const STATUS_ABOUT: &str = "\
Show the directory in which programs of this user look for compiled stores, and what is in it: the source, whether the \
compiled store is used, and why not.

A compiled store is used while its source is as it was. In /var/cache/windlass it is only believed if it, its directory and all \
directories above belong to root; in the directory of WINDLASS_STORE it and the directory may also belong to this user. Nobody \
else may be able to write to them.";

const STATUS_HELP: &str = "\
Examples:
  windlass cache status
  WINDLASS_STORE=/srv/app/trust windlass cache status --json

Environment:
  WINDLASS_STORE
          the directory that is looked at, in place of /var/cache/windlass

Output of --json, one object:
  schema       1; a larger number means a change that readers must know of
  directories  in the order in which programs look, each with
    directory   its path
    state       \"present\", \"absent\", \"distrusted\" (not believed, whatever is in it) or \"unreadable\"
    detail      more about the state, for people, or null
    stores      each with
      file          the path of the compiled store
      kind          of the source, \"cafile\" or \"capath\"; null, as all that follows up to
                    written, where the compiled store can't be read
      path          of the source
      anchors       certificates in it
      bytes         size of the compiled store
      files         of the source
      source_bytes  size of those files
      written       when, RFC 3339, UTC
      age_seconds   since then
      state         \"fresh\"; \"fresh-by-content\": used, after the source was read; \"stale\":
                    the source has changed; \"distrusted\": somebody else could have written it;
                    \"malformed\"; \"other-version\": of another version of Windlass; \"unreadable\"
      detail        more about the state, for people, or null
";

const CLEAR_ABOUT: &str = "\
Remove the compiled stores that `windlass compile` has written: those in the directory of WINDLASS_STORE; else, as root, in \
/var/cache/windlass.

Programs go on with the sources themselves.";

const CLEAR_HELP: &str = "\
Examples:
  windlass cache clear
  WINDLASS_STORE=/srv/app/trust windlass cache clear --json

Output of --json, one object:
  schema     1; a larger number means a change that readers must know of
  directory  that was cleared
  removed    paths of compiled stores
  leftovers  paths of files that were left behind by a `compile` that was killed, and removed
";

/// Arguments of `windlass cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: CacheCommand,
}

/// The subcommands of `windlass cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Show the compiled stores, and whether they are used
    #[command(long_about = STATUS_ABOUT, after_long_help = format!("{STATUS_HELP}\n{}", Exit::help_of("cache")))]
    Status(OutputArgs),
    /// Remove the compiled stores
    #[command(long_about = CLEAR_ABOUT, after_long_help = format!("{CLEAR_HELP}\n{}", Exit::help_of("cache")))]
    Clear(OutputArgs),
}

/// How the result is printed.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}
