//! Writing the result to standard output.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use windlass_machine::{Failure, FailureKind};

use crate::exit::Exit;

/// Writes all of `text`. Says whether anybody still reads.
pub fn is_read(text: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(FailureKind::Other, "standard output", error)),
    }
}

/// Writes all of `text`. A reader that went away early (`| head`) has what it wanted: that is success, said quietly.
pub fn write(text: &[u8]) -> Result<ExitCode, Failure> {
    is_read(text).map(|_| Exit::Success.into())
}
