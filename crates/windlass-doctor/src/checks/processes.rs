//! Running processes with a TLS library: those that Windlass serves, could serve, and can't reach.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_machine::processes::{self, ProcessFacts, Reason, Served};

use crate::check::{Check, Finding, Outcome, Severity, Unseen};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "processes",
    title: "running processes with a TLS library that Windlass does not serve",
    severity: Severity::Note,
    explanation: "\
        Windlass serves a process if its preload library is in it, from the start. This check lists the running \
        processes that have OpenSSL or GnuTLS, by their executables: those that could be served but are not, and \
        those that are out of reach, with the reason. Programs are out of reach if a TLS library is linked into them \
        (Node.js, some Python wheels), if they have their own (Go, Java, NSS), if they are static, or if they have \
        setuid, setgid or capabilities. So is .NET, which reads its certificates itself.\n\n\
        A process with a TLS library may load certificates rarely, or never: `windlass top` shows which processes \
        do. The check does not run with --root.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    if machine.is_image() {
        return;
    }
    let begun = Instant::now();
    let mut looked = 0_usize;
    let mut is_cut = false;
    let in_time = processes::all(processes::Budget::of_time(LONGEST)).take_while(|_| {
        looked += 1;
        is_cut = begun.elapsed() > LONGEST;
        !is_cut
    });
    judge(in_time, outcome);
    if is_cut {
        outcome.found(
            Finding::of_machine(Severity::Note, format!("only the first {looked} processes were examined"))
                .about([String::from("not all were looked at")])
                .reason(format!(
                    "it took more than {} s, since whole executables are searched for linked-in libraries",
                    LONGEST.as_secs()
                ))
                .remedy("`windlass top --once` examines all of them"),
        );
    }
}

/// The time limit: a user can start any number of programs of any size.
const LONGEST: Duration = Duration::from_secs(3);

/// The most process ids shown for one executable.
const MAX_PIDS: usize = 5;

fn judge(all: impl Iterator<Item = ProcessFacts>, outcome: &mut Outcome) {
    let (mut within, mut beyond) = (Groups::default(), Groups::default());
    let mut forbidden = false;
    let mut unread = Vec::new();
    for process in all.filter(|process| process.pid != std::process::id()) {
        match &process.windlass {
            Served::Loaded | Served::No(Reason::NoTlsLibrary) | Served::Unknown(processes::Unseen::Gone) => {}
            Served::No(reason @ (Reason::NotPreloaded | Reason::Disabled)) => within.add(&process, reason),
            Served::No(reason) => beyond.add(&process, reason),
            Served::Unknown(processes::Unseen::Forbidden) => forbidden = true,
            Served::Unknown(processes::Unseen::Unread) => unread.push(process.pid),
        }
    }
    if let Some(finding) =
        within.finding("could be served by Windlass, and are not", "could be served by Windlass, and is not")
    {
        outcome.found(
            finding
                .reason(
                    "each process that loads certificates loads them for itself; `windlass top` shows which ones \
                         do, and how often",
                )
                .remedy(
                    "start it with `windlass run -- PROGRAM`, or activate Windlass for it (`windlass install \
                         --service NAME`, `--shell` or `--machine`) and restart it",
                ),
        );
    }
    if let Some(finding) =
        beyond.finding("use TLS where Windlass can't serve them", "uses TLS where Windlass can't serve it")
    {
        outcome.found(finding.reason("Windlass can't help them; each of them loads certificates for itself").remedy(
            "nothing needs to be done; if OpenSSL is linked into a program, there may be a build that \
                         uses the system's",
        ));
    }
    if let Some(first) = unread.first() {
        let what = format!("{} of the processes could not be searched, {first} for one", unread.len());
        outcome.found(
            Finding::of_machine(Severity::Note, what)
                .about([String::from("could not be searched")])
                .seen_at(format!("/proc/{first}/exe"))
                .reason("their executables are too large or have holes, or block readers")
                .remedy("examine them with care: this is rarely an accident"),
        );
    }
    // A process that even root may not see can't be seen by anybody.
    if forbidden && !rustix::process::geteuid().is_root() {
        outcome.not_seen(Unseen { needs_root: true, ..Unseen::new(Path::new("/proc"), "processes of other users") });
    }
}

/// Processes by executable and reason.
#[derive(Default)]
struct Groups {
    pids: BTreeMap<(String, String), Vec<u32>>,
    count: usize,
}

impl Groups {
    fn add(&mut self, process: &ProcessFacts, reason: &Reason) {
        let command = || process.command.first().cloned().unwrap_or_else(|| String::from("?"));
        let name = process.exe.as_ref().map_or_else(command, |exe| exe.display().to_string());
        self.pids.entry((name, reason.to_string())).or_default().push(process.pid);
        self.count += 1;
    }

    fn finding(self, several: &str, one: &str) -> Option<Finding> {
        let what = match self.count {
            0 => return None,
            1 => format!("1 process {one}"),
            count => format!("{count} processes {several}"),
        };
        let first = self.pids.keys().map(|(name, _)| PathBuf::from(name)).find(|name| name.is_absolute());
        let facts = self.pids.into_iter().map(|((name, reason), pids)| {
            let shown: Vec<_> = pids.iter().take(MAX_PIDS).map(u32::to_string).collect();
            let more = pids.len().saturating_sub(MAX_PIDS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{name}: {reason} (process {}{more})", shown.join(", "))
        });
        // The running processes differ each time: a baseline records only their kind.
        let finding = Finding::of_machine(Severity::Note, what).about([several.to_owned()]).facts(facts);
        Some(match first {
            Some(executable) => finding.seen_at(executable),
            None => finding,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_machine::processes::TlsKind;

    fn process(pid: u32, exe: &str, windlass: Served) -> ProcessFacts {
        let pid = std::process::id() + pid;
        ProcessFacts {
            pid,
            start_time: 1,
            uid: 0,
            exe: Some(exe.into()),
            command: Vec::new(),
            libraries: Vec::new(),
            windlass,
        }
    }

    fn told(all: Vec<ProcessFacts>) -> Outcome {
        let mut outcome = Outcome::default();
        judge(all.into_iter(), &mut outcome);
        outcome
    }

    #[test]
    fn served_processes_and_those_without_tls_are_silent() {
        let all = vec![process(1, "/bin/a", Served::Loaded), process(2, "/bin/b", Served::No(Reason::NoTlsLibrary))];
        assert!(told(all).findings.is_empty());
    }

    #[test]
    fn within_and_beyond_reach_are_told_apart() {
        let unserved = |pid| process(pid, "/usr/bin/python3.11", Served::No(Reason::NotPreloaded));
        let mut all: Vec<_> = (1..=7).map(unserved).collect();
        all.push(process(8, "/usr/bin/node", Served::No(Reason::LinkedIn(TlsKind::Openssl))));
        let outcome = told(all);
        let [within, beyond] = &outcome.findings[..] else { panic!("{:?}", outcome.findings) };
        assert_eq!(within.what, "7 processes could be served by Windlass, and are not");
        assert!(within.facts.shown[0].starts_with("/usr/bin/python3.11: not preloaded (process "));
        assert!(within.facts.shown[0].ends_with(" and 2 more)"), "{:?}", within.facts);
        assert_eq!(beyond.what, "1 process uses TLS where Windlass can't serve it");
        assert!(beyond.facts.shown[0].starts_with("/usr/bin/node: OpenSSL is linked in"), "{:?}", beyond.facts);
        assert!(!within.reason.is_empty() && !beyond.remedy.is_empty());
    }

    #[test]
    fn what_was_not_searched_is_told() {
        let outcome = told(vec![process(1, "/bin/a", Served::Unknown(processes::Unseen::Unread))]);
        assert!(outcome.findings[0].what.starts_with("1 of the processes could not be searched, "));
    }

    #[test]
    fn what_may_not_be_seen_is_told() {
        let outcome = told(vec![process(1, "/bin/a", Served::Unknown(processes::Unseen::Forbidden))]);
        assert!(outcome.findings.is_empty());
        assert_eq!(outcome.unseen.count(), usize::from(!rustix::process::geteuid().is_root()));
    }
}
