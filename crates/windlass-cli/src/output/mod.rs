//! What several commands print with: streams, columns, lines that fit, and characters that are safe.

pub mod columns;
pub mod install_json;
pub mod install_plan;
pub mod prune_json;
pub mod prune_plan;
pub mod terminal;
pub mod wrap;

/// Writing the result to standard output.
pub mod stdout {
    use std::io::{self, ErrorKind, Write};
    use std::process::ExitCode;

    use windlass_machine::Failure;

    use crate::exit::Exit;

    /// Writes all of `text`. Says whether anybody still reads.
    pub fn is_read(text: &[u8]) -> Result<bool, Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::other("standard output", error)),
        }
    }

    /// Writes all of `text`. A reader that went away early (`| head`) has what it wanted: that is a success.
    pub fn write(text: &[u8]) -> Result<ExitCode, Failure> {
        is_read(text).map(|_| Exit::Success.into())
    }
}

/// Writing messages to standard error.
pub mod stderr {
    use std::fmt::Display;
    use std::io::Write;

    use super::terminal::printable_lines;

    /// Writes one message. Nobody can be told when standard error itself can't be written, so that is not an error.
    ///
    /// Messages hold names of files and other words of strangers, which must not drive a terminal: only line ends are
    /// kept as they are.
    pub fn line(message: &impl Display) {
        text(&format!("{message}\n"));
    }

    /// The same for text that has its line ends.
    pub fn text(text: &str) {
        let _ = std::io::stderr().lock().write_all(printable_lines(text).as_bytes());
    }
}
