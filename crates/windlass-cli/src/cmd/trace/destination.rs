//! Where the forms of a report go.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_machine::{Failure, FailureKind, json};
use windlass_trace_report::report::Report;

use crate::cmd::trace::args::TraceArgs;
use crate::output::terminal::{Terminal, printable_json, printable_lines};
use crate::output::{stderr, stdout};

/// All of them, open from the start: an hour later is too late to hear that one can't be written.
#[derive(Debug)]
pub struct Destinations {
    text: Option<Destination>,
    json: Option<Destination>,
    html: Option<Destination>,
}

/// A place to write a report to.
#[derive(Debug)]
enum Destination {
    Stdout,
    File(PathBuf, File),
}

impl Destinations {
    /// Opens what the arguments name.
    pub fn create(arguments: &TraceArgs) -> Result<Destinations, Failure> {
        let named = [("--output", &arguments.output), ("--json", &arguments.json), ("--html", &arguments.html)];
        let mut opened: Vec<(&str, Destination)> = Vec::new();
        let mut places = [None, None, None];
        for (place, (option, path)) in named.into_iter().enumerate() {
            let Some(path) = path else { continue };
            let destination = Destination::open(path)?;
            if let Some((other, _)) = opened.iter().find(|(_, other)| other.is_same(&destination)) {
                let what = format!("{other} and {option}");
                let why = format!("both would be written to {}", destination.name());
                return Err(Failure::new(FailureKind::Usage, what, why).advise("give each report a file of its own"));
            }
            places[place] = Some(opened.len());
            opened.push((option, destination));
        }
        let mut opened: Vec<_> = opened.into_iter().map(|(_, destination)| Some(destination)).collect();
        let mut take = |place: usize| places[place].and_then(|place: usize| opened.get_mut(place)?.take());
        Ok(Destinations { text: take(0), json: take(1), html: take(2) })
    }

    /// Writes the report in all forms that are wanted. Whether all could be written; what could not is said.
    pub fn write(&mut self, report: &Report) -> bool {
        let mut is_written = write(&mut self.json, || json::render(report));
        is_written &= write(&mut self.html, || super::html::render(report));
        match &mut self.text {
            None => stderr::text(&super::text::render(report, Terminal::stderr_width())),
            text @ Some(Destination::Stdout) => {
                is_written &= write(text, || super::text::render(report, Terminal::stdout().width()));
            }
            text => is_written &= write(text, || super::text::render(report, None)),
        }
        is_written
    }
}

impl Destination {
    /// `-` is standard output, as in other programs. What the program writes there comes first.
    fn open(path: &Path) -> Result<Destination, Failure> {
        if path == Path::new("-") {
            return Ok(Destination::Stdout);
        }
        match File::create(path) {
            Ok(file) => Ok(Destination::File(path.to_owned(), file)),
            Err(error) => Err(Failure::new(FailureKind::RunFailed, format!("cannot write {}", path.display()), error)
                .advise("name a file that you may write")),
        }
    }

    fn name(&self) -> String {
        match self {
            Destination::Stdout => String::from("standard output"),
            Destination::File(path, _) => path.display().to_string(),
        }
    }

    /// Devices take what comes: /dev/null may be named twice.
    fn is_same(&self, other: &Destination) -> bool {
        match (self, other) {
            (Destination::Stdout, Destination::Stdout) => true,
            (Destination::File(_, one), Destination::File(_, other)) => match (one.metadata(), other.metadata()) {
                (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
                _ => false,
            },
            _ => false,
        }
    }
}

fn write(destination: &mut Option<Destination>, text: impl FnOnce() -> String) -> bool {
    let result = match destination {
        None => Ok(()),
        // It may be a terminal.
        Some(Destination::Stdout) => stdout::write(for_a_terminal(&text()).as_bytes()).map(|_| ()),
        Some(Destination::File(path, file)) => write_file(path, file, &text())
            .map_err(|error| Failure::other(format!("cannot write {}", path.display()), error)),
    };
    result.map_err(|failure| stderr::line(&failure)).is_ok()
}

/// The program may have removed the file, as `make clean` does, and the directory with it.
fn write_file(path: &Path, file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    let own = file.metadata()?;
    match path.metadata() {
        _ if !own.is_file() => Ok(()),
        Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => Ok(()),
        Ok(_) => Err(io::Error::other("another file took its place while the program ran")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => File::create_new(path)?.write_all(text.as_bytes()),
        Err(error) => Err(error),
    }
}

fn for_a_terminal(text: &str) -> std::borrow::Cow<'_, str> {
    if text.starts_with('{') { printable_json(text) } else { printable_lines(text) }
}
