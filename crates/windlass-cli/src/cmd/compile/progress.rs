//! How far `compile` is: on a terminal, on standard error, and only once it has taken a while.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::output::terminal::{Terminal, printable};

/// Nobody gets impatient before.
const DELAY: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(100);
/// Moves the cursor to the start of the line, and erases the line (ECMA-48, EL).
const ERASE: &str = "\r\u{1b}[K";

/// A line that says what is being done. It is erased when this is dropped.
#[derive(Debug)]
pub struct Progress(Option<Line>);

#[derive(Debug)]
struct Line {
    now: Arc<Mutex<Now>>,
    /// Nothing is sent: that it is gone is the message.
    end: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Now {
    source: String,
    stage: String,
    percent: Option<usize>,
}

impl Progress {
    /// Begins with reading a source. Without a terminal nothing is shown.
    pub fn start(source: &Path) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let source = printable(&source.to_string_lossy()).into_owned();
        let now = Arc::new(Mutex::new(Now { source, stage: String::from("reading"), percent: None }));
        let (end, ended) = mpsc::channel();
        // A thread of its own, as reading tells nothing of how far it is.
        let shown = Arc::clone(&now);
        let writer = std::thread::Builder::new().spawn(move || {
            let mut wait = DELAY;
            let mut written = false;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
                write(&format!("{ERASE}{}", text(&shown)));
                (wait, written) = (STEP, true);
            }
            if written {
                write(ERASE);
            }
        });
        Progress(writer.ok().map(|writer| Line { now, end: Some(end), writer: Some(writer) }))
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        if let Some(line) = &self.0 {
            change(&mut line.now.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl windlass_compile::build::Progress for Progress {
    fn stage(&self, stage: &str) {
        self.change(|now| (now.stage, now.percent) = (stage.to_owned(), None));
    }

    fn part(&self, done: usize, of: usize) {
        self.change(|now| now.percent = Some(done * 100 / of.max(1)));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(writer) = self.writer.take() {
            // It can't have panicked, and there is nothing to do about it.
            let _ = writer.join();
        }
    }
}

fn text(now: &Mutex<Now>) -> String {
    let now = now.lock().unwrap_or_else(PoisonError::into_inner);
    let percent = now.percent.map(|percent| format!(", {percent} %")).unwrap_or_default();
    // A line that wraps can't be erased. What may be cut off stands last.
    let text = format!("{}{percent}: {}", now.stage, now.source);
    let room = usize::from(Terminal::stderr_width().unwrap_or(80)).saturating_sub(1);
    text.chars().take(room).collect()
}

fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_does_not_hide_how_far_it_is() {
        let now = Now { source: "/long".repeat(200), stage: String::from("reading"), percent: Some(40) };
        let text = text(&Mutex::new(now));
        assert!(text.starts_with("reading, 40 %: /long") && text.len() < 1000, "{text}");
    }
}
