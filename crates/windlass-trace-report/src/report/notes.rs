//! The notes of a report: parts that it leaves out, or could not determine.

use super::super::model::Trace;
use super::super::reader::Lines;
use super::{MAX_PROCESSES, MAX_STACKS, Process};

/// The notes; most runs have none. `processes` are all processes, `stacks` is the number of stacks.
pub fn of(trace: &Trace, processes: &[Process], stacks: usize, lines: Lines) -> Vec<String> {
    let over = |count: usize, limit: usize| count.saturating_sub(limit) as u64;
    let of_processes = |is_meant: fn(&Process) -> bool| processes.iter().filter(|each| is_meant(each)).count() as u64;
    let counted = [
        (
            lines.unreadable,
            "line of the trace was truncated or damaged, and is missing here",
            "lines of the trace were truncated or damaged, and are missing here",
        ),
        (
            lines.unknown,
            "event has a type that this version of windlass does not know",
            "events have a type that this version of windlass does not know",
        ),
        (
            trace.totals.lost,
            "event could not be written (no space, no free descriptor, another user, another root directory): it is \
             missing here",
            "events could not be written (no space, no free descriptor, another user, another root directory): they \
             are missing here",
        ),
        (
            trace.totals.certificates_unknown,
            "load did not say how many certificates it parsed",
            "loads did not say how many certificates they parsed",
        ),
        (
            trace.processes.held.unknown,
            "load is not counted in the memory of stores: its size is unknown, or it is not in a store",
            "loads are not counted in the memory of stores: their size is unknown, or they are not in a store",
        ),
        (
            trace.totals.anchors_unknown,
            "verified chain did not name its trust anchor",
            "verified chains did not name their trust anchor",
        ),
        (
            over(stacks, MAX_STACKS).saturating_add(trace.stacks.not_listed),
            "call stack is not listed",
            "call stacks are not listed",
        ),
        (
            trace.timeline.not_listed(),
            "load or connection is not on the timeline",
            "loads or connections are not on the timeline",
        ),
        (
            trace.processes.not_listed,
            "event is of a process that is not listed",
            "events are of processes that are not listed",
        ),
        (over(processes.len(), MAX_PROCESSES), "process is not listed", "processes are not listed"),
        (
            of_processes(|process| process.running),
            "process was still running when PROGRAM ended: its later loads are missing, and its CPU time was taken \
             at its last load",
            "processes were still running when PROGRAM ended: their later loads are missing, and their CPU time was \
             taken at their last load",
        ),
        (
            of_processes(|process| process.has_loaded() && !process.ended && !process.running),
            "loading process ended abruptly (by a signal, _exit or exec): its CPU time was taken at its last load, \
             and certificates that it added one by one may be missing",
            "loading processes ended abruptly (by a signal, _exit or exec): their CPU time was taken at their last \
             load, and certificates that they added one by one may be missing",
        ),
        (
            of_processes(|process| !process.has_loaded() && !process.ended && !process.running),
            "other process ended abruptly, as shells do (_exit, a signal): its CPU time is unknown",
            "other processes ended abruptly, as shells do (_exit, a signal): their CPU time is unknown",
        ),
    ];
    let counted = counted.into_iter().filter(|(count, ..)| *count > 0);
    let mut notes: Vec<_> =
        counted.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many })).collect();
    if trace.not_listed {
        notes.push(String::from("the report can't list everything; totals include everything"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::super::{certificates::Certificates, reader};
    use super::super::{Report, Run};
    use super::*;
    use windlass_run::parent::Ending;

    /// The report of these events, with `running` processes at the end.
    fn report(events: &str, running: &[(u32, &str)]) -> Report {
        let mut trace = Trace::default();
        let lines = reader::read(events.as_bytes(), |event| trace.take(event)).unwrap();
        let running = running.iter().map(|(pid, program)| (*pid, (*program).to_owned())).collect();
        let run = Run { command: Vec::new(), ending: Ending::Exited(0), start: 0, end: 9, unreachable: None, running };
        Report::new(run, &trace, Vec::new(), Certificates::default(), lines)
    }

    #[test]
    fn a_process_that_still_runs_has_not_ended_abruptly() {
        let events = |pid: u32| {
            format!(
                "{{\"e\":\"process\",\"pid\":{pid},\"exe\":\"/opt/none/a\"}}\n\
                 {{\"e\":\"load\",\"pid\":{pid},\"tid\":1,\"entry\":\"f\",\"parsed\":1,\
                 \"memory\":1,\"store\":\"0x1\"}}\n"
            )
        };
        let ended = report(&events(5), &[]);
        assert_eq!(ended.notes.len(), 1);
        assert!(ended.notes[0].starts_with("1 loading process ended abruptly"), "{:?}", ended.notes);
        // By now, its number belongs to another program.
        assert_eq!(report(&events(5), &[(5, "/opt/none/b")]).notes, ended.notes);
        let runs = report(&events(5), &[(5, "/opt/none/a")]);
        assert!(
            runs.processes[0].running && runs.notes[0].starts_with("1 process was still running"),
            "{:?}",
            runs.notes
        );
        let both = report(&(events(5) + &events(6)), &[(5, "/opt/none/a"), (6, "/opt/none/a")]);
        assert!(both.notes[0].starts_with("2 processes were still running"), "{:?}", both.notes);
    }
}
