//! What standard output can show: width, colours, and characters that are safe to print.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use anstyle::Style;
pub use windlass_machine::printable::{printable, printable_json, printable_lines};

/// Standard output as a place for tables.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    width: Option<u16>,
    colour: bool,
}

impl Terminal {
    /// Asks the process's standard output and environment.
    ///
    /// COLUMNS is believed when it is set, also in a pipe: shells keep it to themselves, so an exported one was meant.
    /// Without it, a pipe has no width. NO_COLOR: <https://no-color.org>.
    pub fn stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let columns = set("COLUMNS").and_then(|value| value.to_str()?.parse().ok()).filter(|width| *width > 0);
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        Self {
            width: columns.or_else(|| if is_terminal { window_width(std::io::stdout()) } else { None }),
            colour: is_terminal && !dumb && set("NO_COLOR").is_none(),
        }
    }

    /// Columns that a line may take; `None` where nothing limits it.
    pub fn width(self) -> Option<u16> {
        self.width
    }

    /// Columns of the terminal that standard error is.
    pub fn stderr_width() -> Option<u16> {
        window_width(std::io::stderr())
    }

    /// `text` in `style`, or as it is where colours are not wanted.
    pub fn paint(self, style: Style, text: &str) -> Cow<'_, str> {
        if self.colour { Cow::Owned(format!("{style}{text}{style:#}")) } else { Cow::Borrowed(text) }
    }
}

fn window_width(terminal: impl AsFd) -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
