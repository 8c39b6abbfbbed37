//! The cost of the same run with Windlass, measured by running it several times with and several times without.

#![allow(missing_docs, reason = "fields are those of the JSON, which `windlass trace --help` documents")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use rustix::fs::FileType;
use serde::Serialize;
use windlass_machine::{Failure, FailureKind};
use windlass_run::environment::Environment;
use windlass_run::parent::Ending;
use windlass_run::start::Invocation;

use super::event::Event;
use super::interrupts::Interrupts;
use super::measure::{Front, Measured};
use super::{reader, scratch};

/// Runs without and with the preload library, alternating.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Number of runs of each side.
    pub runs: u32,
    pub stock: Side,
    pub windlass: Side,
    /// Not all runs, the traced one included, ended in the same way: the numbers may come from different work.
    pub endings_differ: bool,
    /// Loads of one more run, traced like the first one, but with the standard streams of the measured runs. Null if
    /// unknown.
    pub loads: Option<u64>,
    /// The number differs from the traced run's: the measurements come from different work.
    pub loads_differ: bool,
    /// The traced run's standard input was a pipe or a file; the measured runs had an empty one.
    pub input_differs: bool,
}

/// The runs with, or without, Windlass.
#[derive(Debug, Default, Serialize)]
pub struct Side {
    /// Median of the wall time, in nanoseconds.
    pub wall: u64,
    pub cpu: u64,
    /// In bytes; null if it was no larger than the peak of the measuring process.
    pub peak_rss: Option<u64>,
    pub samples: Vec<Measured>,
}

/// Why there is no comparison.
#[derive(Debug)]
pub enum NoComparison {
    Failed(Failure),
    /// This process was told to end.
    Stopped(Signal),
}

impl From<Failure> for NoComparison {
    fn from(failure: Failure) -> Self {
        NoComparison::Failed(failure)
    }
}

impl Comparison {
    /// Compares the number of loads with the traced run's.
    pub fn judge(&mut self, traced: u64) {
        self.loads_differ = self.loads.is_some_and(|loads| loads != traced);
    }

    /// Whether the ranges of the two sides overlap: if so, the difference of their medians may be chance.
    pub fn overlaps(&self, of: impl Fn(&Measured) -> Option<u64>) -> bool {
        let spreads = self.stock.spread(&of).zip(self.windlass.spread(&of));
        spreads.is_some_and(|((least, most), (other_least, other_most))| least.max(other_least) <= most.min(other_most))
    }

    /// Whether the two sides may be compared.
    pub fn is_fair(&self) -> bool {
        !self.endings_differ && !self.loads_differ
    }
}

/// Measures `runs` runs of each side. Their standard streams are /dev/null: the output was seen once. `traced` is the
/// ending of the traced run.
pub fn compare(program: &[OsString], runs: u32, traced: Ending) -> Result<Comparison, NoComparison> {
    let mut interrupts = Interrupts::block().map_err(failed)?;
    let result = measure(program, runs, traced, &mut interrupts);
    match interrupts.stopped() {
        // Whatever the result of the runs, they were cut short.
        Some(signal) => Err(NoComparison::Stopped(signal)),
        None => Ok(result?),
    }
}

fn measure(
    program: &[OsString],
    runs: u32,
    traced: Ending,
    interrupts: &mut Interrupts,
) -> Result<Comparison, Failure> {
    let directory = scratch::directory()?;
    let mut one = |front: Front<'_>, name: String| one(program, front, &directory.path().join(name), interrupts);
    // Runs first: the counted runs then find warm caches, and one-time work is already done.
    let mut events = scratch::Scratch::create()?;
    let control = one(Front::Tracer(&events.path), String::from("traced"))?;
    let loads = count_loads(events.events());

    let (mut stock, mut windlass) = (Side::default(), Side::default());
    for number in 0..runs {
        // The second run of a pair finds warmer caches: each side is second equally often, or once more.
        let both = [(Front::Nothing, &mut stock), (Front::Windlass, &mut windlass)];
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut both = both.map(Some);
        for place in order {
            if let Some((front, side)) = both[place].take() {
                side.samples.push(one(front, format!("{number}-{place}"))?);
            }
        }
    }
    stock.take_medians();
    windlass.take_medians();
    let all = [&control].into_iter().chain(&stock.samples).chain(&windlass.samples);
    let endings_differ = all.map(|run| (run.exit_status, run.signal)).any(|ending| ending != traced.parts());
    let input_differs = has_input();
    Ok(Comparison { runs, stock, windlass, endings_differ, loads, loads_differ: false, input_differs })
}

/// Loads that were not made by another loading function.
fn count_loads(events: &mut File) -> Option<u64> {
    let mut loads = 0;
    let mut count = |event| match event {
        Event::Load(load) if load.depth == 0 => loads += 1,
        _ => {}
    };
    reader::read_file(events, &mut count).ok()?;
    Some(loads)
}

/// Whether standard input may have carried data that the measured runs did not get. A terminal may too, but its user
/// knows about the typed input.
fn has_input() -> bool {
    let kind = rustix::fs::fstat(rustix::stdio::stdin()).map(|status| FileType::from_raw_mode(status.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket))
}

/// Each run needs a process of its own: the kernel keeps the peak memory of all children of a process, not of each.
fn one(program: &[OsString], front: Front<'_>, file: &Path, interrupts: &mut Interrupts) -> Result<Measured, Failure> {
    if interrupts.stopped().is_some() {
        return Err(failed(std::io::ErrorKind::Interrupted.into()));
    }
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    let words = |words: &[&OsStr]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut arguments = words(&["trace".as_ref(), "--measured-run".as_ref(), file.as_os_str()]);
    arguments.extend(match front {
        Front::Nothing => Vec::new(),
        Front::Windlass => words(&["--under-windlass".as_ref()]),
        Front::Tracer(events) => words(&["--traced-into".as_ref(), events.as_os_str()]),
    });
    arguments.push("--".into());
    arguments.extend_from_slice(program);
    let invocation =
        Invocation::new(&own, OsStr::new("windlass"), &arguments, &Environment::inherited()).map_err(failed)?;
    let status = interrupts.run(&invocation).map_err(failed)?;
    let text = std::fs::read(file).map_err(|error| {
        let how = status.exit_status().map_or(String::from("was killed"), |status| format!("ended with {status}"));
        failed(std::io::Error::other(format!("the measuring process {how}: {error}")))
    })?;
    serde_json::from_slice(&text).map_err(|error| failed(error.into()))
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(FailureKind::RunFailed, "cannot measure a run of --compare", error)
}

impl Side {
    fn take_medians(&mut self) {
        self.wall = median(self.samples.iter().map(|run| run.wall)).unwrap_or(0);
        self.cpu = median(self.samples.iter().map(|run| run.cpu)).unwrap_or(0);
        let sizes: Option<Vec<u64>> = self.samples.iter().map(|run| run.peak_rss).collect();
        self.peak_rss = sizes.and_then(|sizes| median(sizes.into_iter()));
    }

    /// The minimum and the maximum, if there are several runs and all have a value.
    pub fn spread(&self, of: impl Fn(&Measured) -> Option<u64>) -> Option<(u64, u64)> {
        let values: Vec<u64> = self.samples.iter().map(of).collect::<Option<_>>()?;
        Some((*values.iter().min()?, *values.iter().max()?)).filter(|_| values.len() > 1)
    }
}

fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    let lower = values[if values.len() % 2 == 0 { middle - 1 } else { middle }];
    Some(lower + (upper - lower) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |values: &[u64]| median(values.iter().copied());
        assert_eq!((of(&[]), of(&[7]), of(&[9, 1]), of(&[9, 1, 2])), (None, Some(7), Some(5), Some(2)));
    }

    #[test]
    fn a_peak_that_is_not_known_leaves_no_median() {
        let run = |peak_rss| Measured { wall: 3, cpu: 2, peak_rss, exit_status: Some(0), signal: None };
        let mut side = Side { samples: vec![run(Some(5)), run(None)], ..Side::default() };
        side.take_medians();
        assert_eq!((side.wall, side.cpu, side.peak_rss), (3, 2, None));
        assert_eq!((side.spread(|run| Some(run.wall)), side.spread(|run| run.peak_rss)), (Some((3, 3)), None));
        side.samples.pop();
        side.take_medians();
        assert_eq!((side.peak_rss, side.spread(|run| run.peak_rss)), (Some(5), None));
    }
}
