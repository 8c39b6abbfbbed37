//! Compiles a source into its compiled store in a directory.

use std::path::Path;

use windlass::compiled::{self, CompileError, Image, Last, Overwrite, Root, WriteError};
use windlass::{LoadError, Source, Unsupported};
use windlass_libcrypto::{Libcrypto, Refused};
use windlass_machine::anchors::line;
use windlass_machine::places::sources::Candidate;
use windlass_machine::{Failure, FailureKind};

use super::report::{Row, State};
use super::target;

/// Receives the progress of a source; dropping it means that the source is done.
pub trait Progress {
    /// A new stage begins.
    fn stage(&self, stage: &str);
    /// `done` of `of` parts of the stage are done.
    fn part(&self, done: usize, of: usize);
}

/// The settings for compiling sources.
#[derive(Debug)]
pub struct Build<'a> {
    /// The directory to write compiled stores to.
    pub directory: &'a Path,
    /// The root directory that paths of sources are relative to.
    pub root: Root<'a>,
    /// The libcryptos that must accept all certificates.
    pub libcryptos: &'a [Libcrypto],
    /// Whether a source may lose most of its anchors.
    pub overwrite: Overwrite,
}

/// The result for one source: its row, and an error if it should have been compiled.
pub type Outcome = (Row, Option<Failure>);

impl Build<'_> {
    /// Compiles one source. An error means that all other sources would fail in the same way.
    pub fn source(&self, candidate: &Candidate, progress: impl Progress) -> Result<Outcome, Failure> {
        let image = match compiled::compile(&candidate.source, self.root.0, Some(&windlass_gnutls::FINDING)) {
            Ok(image) => image,
            Err(error) => return Ok(self.not_compiled(candidate, &error)),
        };
        let keys_not_decoded = match self.judge(&image, &progress) {
            Ok(keys_not_decoded) => keys_not_decoded,
            Err(refused) => return Ok(not_accepted(candidate, &refused)),
        };
        progress.stage("writing");
        match compiled::write(self.directory, &image, self.overwrite) {
            Ok(written) => {
                let state = if written.unchanged { State::Unchanged } else { State::Written };
                let row = Row {
                    anchors: Some(image.store().len()),
                    bytes: Some(written.bytes),
                    store: Some(written.path.to_string_lossy().into_owned()),
                    keys_not_decoded: Some(keys_not_decoded),
                    ..Row::new(candidate, state)
                };
                let slow = "the identity of its files is not reliable here (a network file system, a change time in \
                            whole seconds as image builders write it, or one in the future), so programs read it \
                            each time to compare";
                Ok((if image.is_believed() { row } else { row.because(slow) }, None))
            }
            Err(error @ WriteError::Shrinks { .. }) => {
                let what = format!("not compiled: {}", candidate.source.path().display());
                let failure = Failure::new(FailureKind::StoreShrinks, what, &error)
                    .advise("if the source is correct: windlass compile --force");
                Ok((Row::new(candidate, State::Shrinks).because(error), Some(failure)))
            }
            Err(error) => Err(not_written(self.directory, error)),
        }
    }

    /// The number of certificates whose key can't be decoded, by the libcrypto that decodes the fewest.
    fn judge(&self, image: &Image, progress: &impl Progress) -> Result<usize, Refused> {
        let (store, mut worst) = (image.store(), 0);
        for libcrypto in self.libcryptos {
            progress.stage(&format!("{} reads {} certificates", libcrypto.version(), store.len()));
            let judgement = libcrypto.judge(store, &mut |done| progress.part(done, store.len()))?;
            worst = worst.max(judgement.keys_not_decoded);
        }
        Ok(worst)
    }

    fn not_compiled(&self, candidate: &Candidate, error: &CompileError) -> Outcome {
        let row = Row::new(candidate, state_of(self.root, candidate, error)).because(why(self.root, candidate, error));
        if !candidate.named {
            return (row, None);
        }
        let kind = if row.state == State::Unsupported {
            FailureKind::SourceUnsupported
        } else {
            FailureKind::SourceUnreadable
        };
        let what = format!("cannot compile {}", candidate.source.path().display());
        let failure = Failure::new(kind, what, row.detail.as_deref().unwrap_or_default());
        if dangling(self.root, candidate, error).is_some() {
            let advice = format!("recreate the links: openssl rehash {}", candidate.source.path().display());
            return (row, Some(failure.advise(advice)));
        }
        let advice = match kind {
            FailureKind::SourceUnsupported => {
                "Windlass reads plain CERTIFICATE blocks in strict PEM and DER, and accepts a file completely or not \
                 at all; programs use the source itself, as without Windlass"
            }
            _ => "name a file of PEM certificates or a hashed directory that you may read",
        };
        (row, Some(failure.advise(advice)))
    }
}

/// The text of the error, with a line number if there is one.
pub(crate) fn why(root: Root<'_>, candidate: &Candidate, error: &CompileError) -> String {
    if is_unhashed(candidate, error) {
        return String::from("no file in it is named by subject hash (as 5ad8a5d6.0)");
    }
    if let Some(link) = dangling(root, candidate, error) {
        return format!("its hash link {link} is dangling");
    }
    let CompileError::Load(LoadError::Unsupported { path, what }) = error else { return error.to_string() };
    let outside = root.reach(path, Last::Followed).unwrap_or_else(|_| path.clone());
    line::told(path, &outside, what)
}

/// The state of a source after an error. A default directory without names by subject hash counts as absent.
pub(crate) fn state_of(root: Root<'_>, candidate: &Candidate, error: &CompileError) -> State {
    match error {
        _ if dangling(root, candidate, error).is_some() => State::Unreadable,
        CompileError::Load(LoadError::Missing { .. }) => State::Absent,
        _ if is_unhashed(candidate, error) && !candidate.named => State::Absent,
        CompileError::Load(LoadError::Unsupported { .. }) => State::Unsupported,
        _ => State::Unreadable,
    }
}

fn is_unhashed(candidate: &Candidate, error: &CompileError) -> bool {
    let nothing = matches!(error, CompileError::Load(LoadError::Unsupported { what: Unsupported::NoCertificate, path })
        if path == candidate.source.path());
    nothing && matches!(candidate.source, Source::Capath(_))
}

/// The name without a target in a hashed directory that itself exists. OpenSSL's versions treat such a name
/// differently, and therefore nothing of the directory is compiled.
fn dangling(root: Root<'_>, candidate: &Candidate, error: &CompileError) -> Option<String> {
    let CompileError::Load(LoadError::Missing { path }) = error else { return None };
    let Source::Capath(directory) = &candidate.source else { return None };
    // The path of an error is the one that this process uses.
    let here = root.0.map(|root| root.join(directory.strip_prefix("/").unwrap_or(directory)));
    let is_inside = path.parent() == Some(here.as_deref().unwrap_or(directory));
    path.file_name().filter(|_| is_inside).map(|name| name.to_string_lossy().into_owned())
}

fn not_accepted(candidate: &Candidate, refused: &Refused) -> Outcome {
    let row = Row::new(candidate, State::Unsupported).because(refused);
    let what = format!("cannot compile {}", candidate.source.path().display());
    let failure = Failure::new(FailureKind::SourceUnsupported, what, refused)
        .advise("a compiled store holds only what libcrypto accepts; please report this certificate");
    (row, candidate.named.then_some(failure))
}

fn not_written(directory: &Path, error: WriteError) -> Failure {
    match error {
        WriteError::Io { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
            target::not_writable(directory, &error)
        }
        error => {
            let advice = match &error {
                WriteError::Locked { .. } => "another windlass is writing there: try again when it has finished",
                WriteError::Distrusted(_) => {
                    "the directory must belong to root or to you, and only its owner may write to it: chmod go-w"
                }
                _ => "the previous compiled store is unchanged",
            };
            Failure::other(format!("cannot write to {}", directory.display()), error).advise(advice)
        }
    }
}
