//! `windlass top`.

pub mod args;
mod columns;
mod control;
mod metrics;
mod screen;
mod table;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_machine::{Failure, FailureKind, json};
use windlass_top::by_proc;
use windlass_top::snapshot::{By, Snapshot, Sort};
use windlass_top::users::Users;
use windlass_top::watch::{Refused, Watch};

use crate::output::terminal::Terminal;
use crate::output::{stderr, stdout};
use args::TopArgs;
use control::{Control, Happened};
use screen::Screen;

const INTERVAL: Duration = Duration::from_secs(2);
/// Executables of new processes are looked into at least this often.
const TICK: Duration = Duration::from_secs(1);

/// Watches, or looks at `/proc`, and shows it.
pub fn run(arguments: &TopArgs) -> Result<ExitCode, Failure> {
    let named = named(&arguments.watch, arguments.metrics.is_some())?;
    let mut control = Control::new().map_err(|error| Failure::other("signals can't be read", error))?;
    if let Some(address) = arguments.metrics {
        return metrics::serve(address, arguments, named, &mut control);
    }
    let (watch, why) = match Watch::start(named.clone(), false) {
        Ok(watch) => (Some(watch), String::new()),
        Err(refused) => (None, why(refused)),
    };
    let is_live = !arguments.json && !arguments.once && Screen::is_possible();
    let mut view = View {
        watch,
        why,
        named,
        by: arguments.by.into(),
        sort: arguments.sort.into(),
        users: Users::of_this_machine(),
    };
    if view.watch.is_some() || is_live {
        control.begin();
    }
    let interval = arguments.interval.unwrap_or(INTERVAL);
    let duration = if arguments.once { Some(interval) } else { arguments.duration };
    // A time too far away for the clock is as good as none.
    let end = duration.and_then(|duration| Instant::now().checked_add(duration));
    if is_live {
        live(&mut view, &mut control, interval, end)?;
    } else {
        let lines = (arguments.json && !arguments.once).then_some(arguments.interval).flatten();
        view.announce(!arguments.json && io::stdout().is_terminal());
        if view.watch.is_some() {
            wait(&mut view, &mut control, lines, end)?;
        }
    }
    let stopped = view.stop();
    let snapshot = view.snapshot();
    let text = match (arguments.json, arguments.interval.is_some() && !arguments.once) {
        (true, true) => json::line(&snapshot),
        (true, false) => json::render(&snapshot),
        (false, _) => table::whole(&snapshot, Terminal::stdout().width()),
    };
    // What was counted is shown in any case.
    let written = stdout::write(text.as_bytes())?;
    stopped.map(|()| written)
}

/// What is shown, and how.
struct View {
    watch: Option<Watch>,
    why: String,
    named: Vec<PathBuf>,
    by: By,
    sort: Sort,
    users: Users,
}

impl View {
    fn snapshot(&mut self) -> Snapshot {
        match &mut self.watch {
            Some(watch) => watch.with(|state| Snapshot::of(state, self.by, self.sort, &self.users)),
            None => by_proc::look(&self.why, &self.named, self.by, &self.users),
        }
    }

    /// Says on standard error that opens are counted from now on, or why not. Whoever starts programs to be seen waits
    /// for this.
    fn announce(&mut self, table_on_terminal: bool) {
        if self.watch.is_none() {
            // The table begins with it.
            if table_on_terminal && io::stderr().is_terminal() {
                return;
            }
            stderr::line(&format!("windlass: opens are not watched: {}", self.why));
            stderr::line(
                &"  help: this shows only the present state in /proc; run as root to see which processes open \
                  bundles, and how often",
            );
            return;
        }
        stderr::line(&watching(&self.snapshot()));
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.watch.as_mut().map_or(Ok(()), Watch::stop).map_err(not_counted)
    }
}

fn not_counted(why: String) -> Failure {
    Failure::other("not everything was counted", why)
}

fn watching(snapshot: &Snapshot) -> String {
    format!("windlass: watching {}", table::places(snapshot))
}

fn live(view: &mut View, control: &mut Control, interval: Duration, end: Option<Instant>) -> Result<(), Failure> {
    let failure = |error| Failure::other("terminal", error);
    let mut screen = Screen::enter().map_err(failure)?;
    control.keys = screen.has_keys();
    loop {
        let snapshot = view.snapshot();
        screen.draw(&table::screen(&snapshot, view.sort, Screen::size())).map_err(failure)?;
        let next = Instant::now().checked_add(interval);
        let next = [next, end].into_iter().flatten().min();
        match control.wait(next) {
            Happened::Time if end.is_some_and(|end| Instant::now() >= end) => return Ok(()),
            Happened::Time | Happened::Resize => {}
            Happened::End | Happened::Key(b'q' | b'Q') => return Ok(()),
            Happened::Key(b's') => view.sort = after(view.sort),
            Happened::Key(b'p') => view.by = if view.by == By::Process { By::Program } else { By::Process },
            Happened::Key(_) => {}
            Happened::Suspend => {
                drop(screen);
                control::suspend();
                screen = Screen::enter().map_err(failure)?;
            }
        }
    }
}

fn after(sort: Sort) -> Sort {
    match sort {
        Sort::Bytes => Sort::Opens,
        Sort::Opens => Sort::Rate,
        Sort::Rate => Sort::Bytes,
    }
}

/// Until the end; with `lines` a line of JSON each time.
fn wait(view: &mut View, control: &mut Control, lines: Option<Duration>, end: Option<Instant>) -> Result<(), Failure> {
    let mut next = lines.and_then(|interval| Instant::now().checked_add(interval));
    loop {
        let tick = Instant::now().checked_add(TICK);
        match control.wait([next, end, tick].into_iter().flatten().min()) {
            Happened::End => return Ok(()),
            Happened::Suspend => control::suspend(),
            Happened::Time | Happened::Resize | Happened::Key(_) => {}
        }
        let now = Instant::now();
        if end.is_some_and(|end| now >= end) {
            return Ok(());
        }
        if next.is_some_and(|next| now >= next) {
            next = lines.and_then(|interval| now.checked_add(interval));
            let line = json::line(&view.snapshot());
            // Nobody would see what comes later.
            if !stdout::is_read(line.as_bytes())? {
                return Ok(());
            }
        } else if let Some(watch) = &mut view.watch {
            watch.learn();
        }
    }
}

/// An agent in a container has few of the paths itself: it names those of other containers.
fn named(paths: &[PathBuf], may_be_missing: bool) -> Result<Vec<PathBuf>, Failure> {
    let look = |path: &PathBuf| {
        let failure = |error| {
            Failure::new(FailureKind::SourceUnreadable, format!("can't watch {}", path.display()), error)
                .advise("name an existing file or directory; if it is replaced later, the new one is watched")
        };
        let there = if may_be_missing { Ok(()) } else { std::fs::metadata(path).map(drop) };
        there.and_then(|()| std::path::absolute(path)).map_err(failure)
    };
    paths.iter().map(look).collect()
}

fn why(refused: Refused) -> String {
    match refused {
        Refused::NotPermitted => "root is needed, with CAP_SYS_ADMIN (fanotify)".to_owned(),
        Refused::Kernel(errno) => format!("the kernel refuses fanotify: {}", errno.desc()),
    }
}
