//! What the same run costs with Windlass: measured by running it again, some times with and some times without.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use super::measure::Measured;
use crate::exit::Exit;
use crate::failure::Failure;

/// Runs without and with the preload library, in turns.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Of each side.
    pub runs: u32,
    pub stock: Side,
    pub windlass: Side,
    /// Not all runs ended in the same way: then the numbers may be of different work.
    pub endings_differ: bool,
}

/// One side.
#[derive(Debug, Default, Serialize)]
pub struct Side {
    /// Medians.
    pub wall: u64,
    pub cpu: u64,
    /// Bytes; null where it was no larger than that of the process that measures.
    pub peak_rss: Option<u64>,
    pub samples: Vec<Measured>,
}

/// Measures `runs` of each side. The standard streams of these runs are /dev/null: their output was seen once.
pub fn compare(program: &[std::ffi::OsString], runs: u32, scratch: &Path) -> Result<Comparison, Failure> {
    let (mut stock, mut windlass) = (Side::default(), Side::default());
    for number in 0..runs {
        // Whoever comes second finds warmer caches: each side is second as often.
        let both = [(false, &mut stock), (true, &mut windlass)];
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut both = both.map(Some);
        for place in order {
            if let Some((under_windlass, side)) = both[place].take() {
                side.samples.push(one(program, under_windlass, &scratch.join(format!("{under_windlass}-{number}")))?);
            }
        }
    }
    stock.take_medians();
    windlass.take_medians();
    let mut endings = stock.samples.iter().chain(&windlass.samples).map(|run| (run.exit_status, run.signal));
    let first = endings.next();
    let endings_differ = endings.any(|ending| Some(ending) != first);
    Ok(Comparison { runs, stock, windlass, endings_differ })
}

/// A process of its own for each run: the kernel keeps the peak memory of all children of a process, not of each.
fn one(program: &[std::ffi::OsString], under_windlass: bool, file: &Path) -> Result<Measured, Failure> {
    let failed = |error: String| Failure::new(Exit::RunFailed, "cannot measure a run of --compare", error);
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    let mut command = Command::new(own);
    command.arg("trace").arg("--measured-run").arg(file);
    if under_windlass {
        command.arg("--under-windlass");
    }
    command.arg("--").args(program).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| failed(error.to_string()))?;
    let text = std::fs::read(file).map_err(|error| failed(format!("the measuring process {status}: {error}")))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}

impl Side {
    fn take_medians(&mut self) {
        self.wall = median(self.samples.iter().map(|run| run.wall)).unwrap_or(0);
        self.cpu = median(self.samples.iter().map(|run| run.cpu)).unwrap_or(0);
        let sizes: Option<Vec<u64>> = self.samples.iter().map(|run| run.peak_rss).collect();
        self.peak_rss = sizes.and_then(|sizes| median(sizes.into_iter()));
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
        side.samples.pop();
        side.take_medians();
        assert_eq!(side.peak_rss, Some(5));
    }
}
