//! Verifications, and the trust anchors at the end of their chains.

use std::cell::Cell;

use sha2::{Digest, Sha256};
use windlass_interpose::hook;

use crate::clock::{Overhead, Stopwatch};
use crate::json::Line;
use crate::{process, settings, sink};

thread_local! {
    /// The stack address at which this thread's verification began (one of `X509_verify_cert`'s checks is a
    /// verification itself, of a CRL's issuer). A verification that began deeper than the current call was left by
    /// `longjmp`.
    static VERIFYING: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is inside a verification.
pub fn is_verifying() -> bool {
    let marker = 0u8;
    VERIFYING.get() > &raw const marker as usize
}

/// A verification in progress.
pub struct Verification(Option<Stopwatch>);

/// The result of a verification.
pub struct Outcome {
    /// Whether it succeeded.
    pub ok: bool,
    /// The store that it used.
    pub store: Option<usize>,
    /// DER of the trust anchor.
    pub anchor: Option<Vec<u8>>,
}

impl Verification {
    /// Call this before the original. `prepare` runs if this verification is recorded.
    pub fn begin(prepare: impl FnOnce()) -> Verification {
        let marker = 0u8;
        let at = &raw const marker as usize;
        if !settings::enabled() || hook::is_inside() || VERIFYING.get() > at {
            return Verification(None);
        }
        let overhead = Overhead::begin();
        hook::shielded(|| {
            prepare();
            Some(())
        });
        VERIFYING.set(at);
        Verification(Some(Stopwatch::start(overhead)))
    }

    /// Call this after the original.
    pub fn end(self, outcome: impl FnOnce() -> Outcome) {
        let Some(watch) = self.0 else { return };
        let (took, overhead) = watch.stop();
        hook::shielded(|| {
            let outcome = outcome();
            let process = process::current();
            let mut line = Line::of("verify", &process.id);
            line.number("tid", process::thread());
            line.number("t", took.t).number("wall", took.wall).number("cpu", took.cpu);
            line.raw("ok", if outcome.ok { "true" } else { "false" }).address("store", outcome.store);
            match outcome.anchor {
                Some(der) => line.text("anchor", fingerprint(&der).as_bytes()),
                None => line.raw("anchor", "null"),
            };
            sink::append(&process.id, &line.finish());
            Some(())
        });
        drop(overhead);
    }
}

impl Drop for Verification {
    fn drop(&mut self) {
        if self.0.is_some() {
            VERIFYING.set(0);
        }
    }
}

fn fingerprint(der: &[u8]) -> String {
    Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect()
}
