//! `windlass ls`.

pub mod args;
mod table;
mod unhashed;

use std::process::ExitCode;
use std::sync::Arc;

use windlass::{Config, LoadError, Source, TrustCache, Unsupported};
use windlass_machine::anchors::choose::{self, Choice};
use windlass_machine::anchors::line;
use windlass_machine::anchors::listing::Listing;
use windlass_machine::{Failure, FailureKind, json};

use crate::output::stdout;
use crate::output::terminal::Terminal;
use args::LsArgs;
use windlass_machine::anchors::der;

/// Lists the anchors of a source.
pub fn run(arguments: &LsArgs) -> Result<ExitCode, Failure> {
    let choice = choose::choose(arguments.source.as_deref())?;
    let store = match der::read(choice.source.path()) {
        Some(store) => store.map(Arc::new),
        None => TrustCache::new(Config::default(), None).load(&choice.source),
    };
    let store = store.map_err(|error| failure(&choice, &error))?;
    let listing = Listing::of(&choice, &store);
    let text = if arguments.json {
        json::render(&listing)
    } else {
        table::render(&listing, choice.also.as_deref(), Terminal::stdout())
    };
    stdout::write(text.as_bytes())
}

fn failure(choice: &Choice, error: &LoadError) -> Failure {
    let source = format!("cannot list {} ({})", choice.source.path().display(), choice.reason);
    match error {
        LoadError::Unsupported { what: Unsupported::NoCertificate, path } if is_directory(choice) => {
            let why = "no file in it is named by subject hash (as 5ad8a5d6.0)";
            Failure::new(FailureKind::SourceUnsupported, source, why).advise(if unhashed::looks_like_a_store(path) {
                format!("create these names: openssl rehash {}", path.display())
            } else {
                String::from("name a file of PEM certificates or a hashed directory")
            })
        }
        LoadError::Unsupported { path, what } => {
            Failure::new(FailureKind::SourceUnsupported, source, line::told(path, path, what))
                .advise(
                    "Windlass reads plain CERTIFICATE blocks in strict PEM and DER, and accepts a file \
                         completely or not at all",
                )
                .advise(
                    "programs under `windlass run` are not affected: OpenSSL itself reads sources that Windlass \
                     can't read",
                )
                .advise(format!("OpenSSL's view: openssl storeutl -noout -text {}", path.display()))
        }
        LoadError::NotAFile { .. } | LoadError::Missing { .. } | LoadError::Io { .. } => {
            Failure::new(FailureKind::SourceUnreadable, source, error)
                .advise("name a file of PEM certificates or a hashed directory that you may read")
        }
        _ => Failure::new(FailureKind::SourceUnreadable, source, error),
    }
}

fn is_directory(choice: &Choice) -> bool {
    matches!(choice.source, Source::Capath(_))
}
