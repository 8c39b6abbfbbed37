//! Arguments and help of `windlass compile`.

use std::path::PathBuf;

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

use clap::Args;

pub const ABOUT: &str = "\
Compile each SOURCE: read it once, check that libcrypto accepts every certificate, and write an indexed compiled \
store. Programs under Windlass are served from the compiled store without reading the source.

Without SOURCE, compile the default sources of OpenSSL and GnuTLS on this machine, under each name by which programs \
use them. A default source that does not exist or can't be compiled is reported, but is not an error: programs use \
the source itself, as without Windlass. SSL_CERT_FILE and SSL_CERT_DIR are ignored: give their values as SOURCE.

A compiled store never overrides its source. As soon as the source changes, programs read the source instead.";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass compile", "as root: for the machine"),
            Example("WINDLASS_STORE=/srv/trust windlass compile", "for programs that have the same variable"),
            Example("windlass compile --check || windlass compile", "only if something has changed"),
            Example("windlass compile /etc/app/ca.pem", "a source that a program names"),
            Example("windlass compile --root /mnt/image", "for an image that is being built"),
        ],
    ),
    section(
        "",
        &[
            Text(
                "Compiled stores are written to the directory of --store, or else of WINDLASS_STORE, or else, as \
             root, to /var/cache/windlass. Programs look in the directory that WINDLASS_STORE names in their own \
             environment, or else in /var/cache/windlass, where they use only stores of root. `windlass cache \
             status` shows the directory.",
            ),
            Text(
                "A program finds a compiled store by the path that the program itself uses for the source. An \
             absolute SOURCE is therefore taken literally: symbolic links in it are kept.",
            ),
            Text(
                "If a source has lost more than half of its anchors since it was compiled, it is probably damaged. \
             It is then compiled only with --force, and the earlier compiled store is stale.",
            ),
            Text(
                "With --root, all paths, including symbolic links, are resolved within DIR, and compiled stores go \
             to /var/cache/windlass or --store within DIR. The libcrypto of this machine decides which \
             certificates are accepted; no program of the image is run. Copying an image gives its files a new \
             identity. Programs in the running image then compare the source's content with the compiled store, \
             and use the store without parsing.",
            ),
        ],
    ),
    section(
        "Environment",
        &[Item("WINDLASS_STORE", "The directory of compiled stores, an absolute path; ignored with --root.")],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object:"),
            SCHEMA,
            Item("directory", "of the compiled stores, as it is reached from this machine"),
            Item("root", "the directory of --root, or null"),
            Item(
                "libcrypto",
                "the libcryptos of this machine: [{library, version}]; without --check, all of them accepted all \
             certificates",
            ),
            List(
                "sources",
                "in the order of the table, each with",
                &[
                    Item("kind", "\"cafile\" or \"capath\""),
                    Item("path", "by which programs find it"),
                    Item("reason", "why it is a source"),
                    Item(
                        "state",
                        "\"written\"; \"unchanged\": the same bytes were there before; \"shrinks\": refused, since \
                         most \
                 anchors would be lost; \"absent\", \"unreadable\" or \"unsupported\": not compiled, programs \
                 use the source itself; with --check: \"fresh\"; \"fresh-by-content\": used, after the source \
                 was read; \"stale\", \"missing\" or \"unusable\": not used; or why it can't be compiled",
                    ),
                    Item("detail", "more about the state, for people, or null"),
                    Item("anchors", "in the compiled store, or null"),
                    Item("bytes", "size of the compiled store, or null"),
                    Item("store", "path of the compiled store, or null"),
                    Item("keys_not_decoded", "anchors whose public key libcrypto can't use, or null"),
                ],
            ),
        ],
    ),
];

/// Arguments of `windlass compile`.
#[derive(Debug, Args)]
pub struct CompileArgs {
    /// PEM files or hashed directories
    ///
    /// A relative path is made absolute.
    #[arg(value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath)]
    pub sources: Vec<PathBuf>,

    /// Compile for the image in DIR; all paths are paths within it
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,

    /// Write the compiled stores to DIR
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub store: Option<PathBuf>,

    /// Only report which compiled stores are fresh, and why others are not
    ///
    /// The exit status is 5 if one is stale or missing.
    #[arg(long, conflicts_with = "force")]
    pub check: bool,

    /// Compile sources that lost more than half of their anchors, too
    #[arg(long)]
    pub force: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}
