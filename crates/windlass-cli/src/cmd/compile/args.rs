//! Arguments and help of `windlass compile`.

use std::path::PathBuf;

use clap::Args;

pub const ABOUT: &str = "\
Compile each SOURCE: read it once, have libcrypto accept every certificate, and write an indexed compiled store, from \
which programs under Windlass are served without reading the source.

Without SOURCE, the default sources of OpenSSL and GnuTLS on this machine, under each name by which programs use them. \
Of those, what does not exist or can't be compiled is reported, and is no error: programs go on with the source, \
as without Windlass. SSL_CERT_FILE and SSL_CERT_DIR are not looked at: name such a source.

A compiled store is never believed over its source: as soon as that changes, programs read it instead.";

pub const HELP: &str = "\
Examples:
  windlass compile                               as root: for the machine
  WINDLASS_STORE=/srv/trust windlass compile     for programs that have the same variable
  windlass compile --check || windlass compile   only where something has changed
  windlass compile /etc/app/ca.pem               a source that a program names
  windlass compile --root /mnt/image             for an image that is being built

Compiled stores are written to the directory of --store; else of WINDLASS_STORE; else, as root, to
/var/cache/windlass. Programs look in /var/cache/windlass, where they believe only root, unless
WINDLASS_STORE names another directory, for them as well; `windlass cache status` shows it.
A program finds the compiled store of a source by the path that it names itself: an absolute
SOURCE is taken as it stands, links and all.

A source that lost more than half of its anchors since it was compiled is more likely broken than
meant so: it is not compiled without --force, and what was compiled before is stale.

With --root, paths are those within DIR, links included, and the compiled stores go to
/var/cache/windlass or --store within DIR. The libcrypto of this machine decides what is accepted;
nothing of the image is run. Copying gives files a new identity: in the running image, programs
find the compiled store fresh by its content, and read the source to compare, but parse nothing.

Environment:
  WINDLASS_STORE
          the directory of compiled stores, an absolute path; not with --root

Output of --json, one object:
  schema     1; a larger number means a change that readers must know of
  directory  of the compiled stores, as it is reached from here
  root       the directory of --root, or null
  libcrypto  those of this machine: [{library, version}]; without --check, all of them accepted all
             certificates
  sources    in the order of the table, each with
    kind              \"cafile\" or \"capath\"
    path              by which programs find it
    reason            why it is a source
    state             \"written\", or \"unchanged\": the same bytes were there before;
                      \"shrinks\": refused, as most anchors would be lost;
                      \"absent\", \"unreadable\" or \"unsupported\": not compiled, programs go on with it;
                      with --check: \"fresh\"; \"fresh-by-content\": used, after the source was read;
                      \"stale\", \"missing\" or \"unusable\": not used; or why it can't be compiled
    detail            more about the state, for people, or null
    anchors           in the compiled store, or null
    bytes             size of the compiled store, or null
    store             its path, or null
    keys_not_decoded  anchors with a public key that libcrypto can't use, or null
";

/// Arguments of `windlass compile`.
#[derive(Debug, Args)]
pub struct CompileArgs {
    /// PEM files or hashed directories; a relative path is made absolute
    #[arg(value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath)]
    pub sources: Vec<PathBuf>,

    /// Compile for an image below DIR: sources and compiled stores are paths within it
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,

    /// Write the compiled stores to DIR
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub store: Option<PathBuf>,

    /// Only say which compiled stores are fresh, and why others are not; 5 if one is stale or missing
    #[arg(long, conflicts_with = "force")]
    pub check: bool,

    /// Compile also what lost more than half of its anchors
    #[arg(long)]
    pub force: bool,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}
