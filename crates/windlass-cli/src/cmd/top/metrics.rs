//! `windlass top --metrics`: no table, but an address from which the counts can be read.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_machine::Failure;
use windlass_top::scrape::Listener;
use windlass_top::snapshot::Snapshot;
use windlass_top::users::Users;
use windlass_top::watch::Watch;

use super::args::TopArgs;
use super::control::{Control, Happened, suspend};
use super::{TICK, not_counted, watching, why};
use crate::exit::Exit;
use crate::output::stderr;

/// Scrapes are usually 15 s to 5 min apart. The last counts of a container should be seen once.
const KEEP: Duration = Duration::from_secs(300);
/// How often all processes are looked at, to see which containers have ended.
const ROUND: Duration = Duration::from_secs(10);

/// Watches and answers until the end.
pub fn serve(
    address: SocketAddr,
    arguments: &TopArgs,
    named: Vec<PathBuf>,
    control: &mut Control,
) -> Result<ExitCode, Failure> {
    let cannot = |error| {
        Failure::other(format!("can't serve metrics at {address}"), error)
            .advise("name a port that is not in use, and an IP address of this machine")
    };
    // Before the work: nobody waits for an address that is taken.
    let listener = Listener::bind(address).map_err(cannot)?;
    let address = listener.address().map_err(cannot)?;
    let mut watch = Watch::start(named, true).map_err(|refused| {
        Failure::other("opens can't be watched", why(refused)).advise(
            "run as root; without --metrics, windlass top \
                                                                       shows what /proc has",
        )
    })?;
    control.begin();
    let server = listener.serve(watch.metrics()).map_err(cannot)?;
    let users = Users::of_this_machine();
    let (by, sort) = (arguments.by.into(), arguments.sort.into());
    stderr::line(&watching(&watch.with(|state| Snapshot::of(state, by, sort, &users))));
    stderr::line(&format!("windlass: metrics at http://{address}/metrics"));

    let keep = arguments.keep.unwrap_or(KEEP);
    let round = ROUND.min(keep).max(TICK);
    let end = arguments.duration.and_then(|duration| Instant::now().checked_add(duration));
    let mut next = Instant::now();
    loop {
        let tick = Instant::now().checked_add(TICK);
        match control.wait([tick, end].into_iter().flatten().min()) {
            Happened::End => break,
            Happened::Suspend => suspend(),
            Happened::Time | Happened::Resize | Happened::Key(_) => {}
        }
        watch.fold();
        if Instant::now() >= next {
            watch.look_around(keep);
            next = Instant::now() + round;
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
    }
    let served = server.stop();
    watch.stop().map_err(not_counted)?;
    served.map_err(|why| Failure::other("metrics", why))?;
    Ok(Exit::Success.into())
}
