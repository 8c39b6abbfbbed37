//! A terminal whose content is replaced in place, and which is as before afterwards.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use rustix::termios::tcgetwinsize;

/// The alternate screen, without a cursor (xterm's private modes 1049 and 25, which all terminals of today have).
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// ECMA-48: cursor to the top; erase to the end of the line; erase to the end of the screen.
const HOME: &str = "\x1b[H";
const TO_END_OF_LINE: &str = "\x1b[K";
const TO_END_OF_SCREEN: &str = "\x1b[J";

/// The terminal in the state in which it is drawn on. Dropping it leaves that state, on every way out.
#[derive(Debug)]
pub struct Screen {
    has_keys: bool,
}

/// While there is a screen: the modes of standard input before, if that is a terminal.
static ENTERED: Mutex<Option<Option<Termios>>> = Mutex::new(None);

/// Leaves the state of a screen, if there is one. For the thread that ends the process.
pub fn leave() {
    let entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = entered {
        // Not through the standard library, whose lock the main thread may hold.
        let _ = rustix::io::write(rustix::stdio::stdout(), LEAVE.as_bytes());
        if let Some(before) = before {
            // By nix, not rustix: through TCSETS2 the kernel would note the speeds in another way than before.
            let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &before);
        }
    }
}

impl Screen {
    /// Whether standard output can show it.
    pub fn is_possible() -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        io::stdout().is_terminal() && !dumb
    }

    /// Enters it. Keys come one by one and are not shown, if standard input is a terminal; Ctrl-C stays a signal.
    pub fn enter() -> io::Result<Screen> {
        let before = tcgetattr(io::stdin()).ok();
        let screen = Screen { has_keys: before.is_some() };
        *ENTERED.lock().unwrap_or_else(PoisonError::into_inner) = Some(before.clone());
        if let Some(before) = &before {
            let mut modes = before.clone();
            modes.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
            modes.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
            modes.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
            tcsetattr(io::stdin(), SetArg::TCSANOW, &modes)?;
        }
        write(ENTER)?;
        Ok(screen)
    }

    /// Whether keys come.
    pub fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Columns and lines.
    pub fn size() -> (u16, u16) {
        let size = tcgetwinsize(io::stdout()).map(|size| (size.ws_col, size.ws_row));
        size.ok().filter(|(columns, lines)| *columns > 0 && *lines > 0).unwrap_or((80, 24))
    }

    /// Shows these lines instead of what was shown. They must fit.
    pub fn draw(&self, text: &str) -> io::Result<()> {
        let mut frame = String::with_capacity(text.len() + 512);
        frame.push_str(HOME);
        for (place, line) in text.lines().enumerate() {
            // No line end behind the last line: it would scroll.
            frame.push_str(if place > 0 { "\n" } else { "" });
            frame.push_str(line);
            frame.push_str(TO_END_OF_LINE);
        }
        frame.push_str(TO_END_OF_SCREEN);
        write(&frame)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
