//! The cost of a fault on this machine: measured, or not reported.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_libcrypto::Libcrypto;
use windlass_machine::places::sources::without_date;

/// The time limit for one measurement…
const AT_MOST: Duration = Duration::from_millis(150);
/// …and for all together.
const BUDGET: Duration = Duration::from_millis(1500);
/// The fewest runs for a meaningful median.
const FEWEST: usize = 3;
const MOST: usize = 9;
/// In bytes. A load that has begun can't be stopped, and larger files take too long.
const MAX_BYTES: u64 = 4 << 20;

/// A measured time: CPU time of this thread, because the other load on the machine says nothing about the cost. Files
/// are in the page cache by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Median CPU time.
    pub nanoseconds: u64,
    /// The number of runs.
    pub runs: usize,
    /// The unit of the cost: `context`.
    pub per: &'static str,
    /// The measured action, as a clause.
    pub what: String,
    /// The library that was measured.
    pub library: String,
}

/// The libcrypto that is measured, and the remaining time.
#[derive(Debug)]
pub struct Measure<'a> {
    libcrypto: Option<&'a Libcrypto>,
    left: Cell<Duration>,
}

impl<'a> Measure<'a> {
    /// With the libcrypto that programs of this machine use; without one, nothing is measured.
    pub fn with(libcrypto: Option<&'a Libcrypto>) -> Measure<'a> {
        Measure { libcrypto, left: Cell::new(BUDGET) }
    }

    /// The cost of loading a PEM file into a fresh store, as a context does.
    pub fn load_file(&self, file: &File) -> Option<Cost> {
        let libcrypto = self.libcrypto?;
        let metadata = file.metadata().ok()?;
        if metadata.len() > MAX_BYTES || !is_ours(&metadata) {
            return None;
        }
        let path = path_of(file);
        self.median(String::from("loading the file into a fresh store"), || libcrypto.load_file(&path).is_ok())
    }

    /// The cost of decoding these certificates and adding them to a fresh store. They must come from a file that passes
    /// [`is_ours`].
    pub fn load_certificates(&self, certificates: &[&[u8]]) -> Option<Cost> {
        let bytes: usize = certificates.iter().map(|der| der.len()).sum();
        if bytes as u64 > MAX_BYTES || certificates.is_empty() {
            return None;
        }
        let libcrypto = self.libcrypto?;
        let what = match certificates.len() {
            1 => String::from("decoding the certificate and adding it to a fresh store"),
            count => format!("decoding the {count} certificates and adding them to a fresh store"),
        };
        self.median(what, || libcrypto.load_certificates(certificates) == certificates.len())
    }

    /// The median of several runs. A run that fails has no cost.
    fn median(&self, what: String, mut run: impl FnMut() -> bool) -> Option<Cost> {
        let libcrypto = self.libcrypto?;
        let begun = Instant::now();
        let mut times = Vec::with_capacity(MOST);
        // The first run also sets up the library.
        let all_well = self.left.get() > Duration::ZERO && run() && {
            let room = AT_MOST.min(self.left.get());
            (0..MOST).all(|_| {
                if times.len() >= FEWEST && begun.elapsed() >= room {
                    return true;
                }
                let start = cpu_time();
                let well = run();
                times.push(cpu_time().saturating_sub(start));
                well
            })
        };
        self.left.set(self.left.get().saturating_sub(begun.elapsed()));
        times.sort_unstable();
        let median = times.get(times.len() / 2).filter(|_| all_well)?;
        Some(Cost {
            nanoseconds: u64::try_from(median.as_nanos()).ok()?,
            runs: times.len(),
            per: "context",
            what,
            library: without_date(libcrypto),
        })
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A path by which a library opens this very file: a user who may write to a directory on its original path could
/// replace the file, or put a FIFO there.
pub(crate) fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Whether a foreign parser may read a file: the doctor may run as root, and strangers' files may hold anything.
pub fn is_ours(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.is_file() && (metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::machine::Machine;
    use crate::testing::{Image, fixture};

    #[test]
    fn what_can_not_be_loaded_has_no_cost() {
        let libcryptos = Libcrypto::all();
        let image = Image::healthy();
        image.write("bad.pem", &(fixture("rsa.pem") + "-----BEGIN CERTIFICATE-----\n"));
        image.write("large.pem", &fixture("rsa.pem").repeat(4000));
        let measure = Measure::with(libcryptos.first());
        let open = |name: &str| File::open(image.path(name)).unwrap();
        for name in ["bad.pem", "large.pem", "etc"] {
            assert_eq!(measure.load_file(&open(name)), None, "{name}");
        }
        let bundle = open("etc/ssl/certs/ca-certificates.crt");
        let cost = measure.load_file(&bundle).expect("a cost");
        assert!(cost.nanoseconds > 0 && (FEWEST..=MOST).contains(&cost.runs), "{cost:?}");
        assert_eq!(Measure::with(None).load_file(&bundle), None);
        assert_eq!(measure.load_certificates(&[b"no certificate"]), None);
    }

    /// Simulates a swap of the file, after the check, by a user who may write to its directory.
    #[test]
    fn what_is_loaded_is_the_file_that_was_opened() {
        let image = Image::healthy();
        let libcryptos = Libcrypto::all();
        let machine = Machine::new(Some(image.root()), &libcryptos, true);
        let path = Path::new("/etc/ssl/certs/ca-certificates.crt");
        let content = machine.read(path, 1 << 20).unwrap();
        image.write("etc/swap", "no certificate");
        std::fs::rename(image.path("etc/swap"), image.path("etc/ssl/certs/ca-certificates.crt")).unwrap();
        assert!(machine.measure.load_file(&content.file).is_some());
        assert!(libcryptos[0].load_file(&path_of(&content.file)).is_ok());
        assert_eq!(machine.measure.load_file(&machine.open(path).unwrap()), None);
    }

    #[test]
    fn when_the_time_is_used_up_nothing_more_is_measured() {
        let libcryptos = Libcrypto::all();
        let measure = Measure::with(libcryptos.first());
        measure.left.set(Duration::ZERO);
        let bundle = File::open(Image::healthy().path("etc/ssl/certs/ca-certificates.crt")).unwrap();
        assert_eq!(measure.load_file(&bundle), None);
    }
}
