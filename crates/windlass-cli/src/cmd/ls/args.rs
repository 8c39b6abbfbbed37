//! Arguments and help of `windlass ls`.

use std::path::PathBuf;

use clap::Args;

use crate::help::Block::{Example, Item, List, Text};
use crate::help::{SCHEMA, Section, section};

pub const ABOUT: &str = "\
List the certificates of SOURCE, the trust anchors. SOURCE is a file of PEM certificates (CAfile) or a directory of \
files \
named by subject hash (CApath, as made by `openssl rehash`). It may also be a file with one certificate in DER, which \
OpenSSL does not accept as a CAfile.

Without SOURCE, list the default source of OpenSSL on this machine: SSL_CERT_FILE, or else cert.pem in OPENSSLDIR. \
If that \
file does not exist, list SSL_CERT_DIR, or else certs in OPENSSLDIR. The output says which source was chosen, and why.";

pub const HELP: &[Section] = &[
    section(
        "Examples",
        &[
            Example("windlass ls", ""),
            Example("windlass ls /etc/ssl/certs", ""),
            Example("windlass ls --json | jq -r '.anchors[] | select(.expired) | .subject'", ""),
        ],
    ),
    section(
        "Environment",
        &[
            Item("SSL_CERT_FILE, SSL_CERT_DIR", "The default source, as OpenSSL reads them."),
            Item("NO_COLOR", "If set, the table has no colours. Without a terminal it has none either."),
            Item("COLUMNS", "The width of the table, instead of the width of the terminal."),
        ],
    ),
    section(
        "Output of --json",
        &[
            Text("One JSON object:"),
            SCHEMA,
            Item("source", "{kind, path, reason}; kind is \"cafile\" or \"capath\""),
            Item("summary", "{anchors, distinct, duplicates, expired, not_yet_valid, not_ca}"),
            List(
                "anchors",
                "in the order of the source, each with",
                &[
                    Item("index", "position, from 0"),
                    Item("subject", "distinguished name as in RFC 4514"),
                    Item("issuer", "distinguished name as in RFC 4514"),
                    Item("name", "common name, or else organizational unit, organization or subject"),
                    Item("serial", "hexadecimal"),
                    Item("not_before", "RFC 3339, UTC"),
                    Item("not_after", "RFC 3339, UTC"),
                    Item("key", "{algorithm, bits, curve}; bits for RSA, curve for EC, else null"),
                    Item("subject_hash", "as OpenSSL computes it: the file name in a hashed directory"),
                    Item("subject_key_id", "hexadecimal, or null"),
                    Item("sha256_fingerprint", "hexadecimal, of the whole certificate"),
                    Item("self_issued", "whether subject and issuer are equal, byte for byte"),
                    Item("ca", "whether X509_check_ca of OpenSSL accepts it as a CA"),
                    Item("expired", "as of now"),
                    Item("not_yet_valid", "as of now"),
                    Item("duplicate", "whether it repeats an earlier certificate, byte for byte"),
                    Item("shares_subject", "whether a different certificate here has the same subject"),
                ],
            ),
        ],
    ),
];

/// Arguments of `windlass ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// A PEM file, a hashed directory, or a file with one DER certificate
    #[arg(value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath)]
    pub source: Option<PathBuf>,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}
