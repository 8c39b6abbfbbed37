//! `windlass run --stats` as a parent: signals, stops, endings.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use common::{
    children, clean_environment, compile, eventually, kill, state_and_parent, std_windlass,
    windlass_with_default_signals,
};

/// `windlass run --stats sh -c LINE` in a process group of its own, which ends with the test.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts it, and waits until it says `ready`.
    fn start(line: &str) -> Running {
        let mut command = windlass_with_default_signals();
        command.args(["run", "--stats", "sh", "-c", line]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, output };
        assert_eq!(running.line(), "ready\n");
        running
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// How it ends, and what it wrote until then.
    fn end(mut self) -> (ExitStatus, String) {
        let mut status = None;
        eventually("the end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        (status.unwrap(), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let line = format!("kill -s KILL -- -{}", self.child.id());
        let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

/// A line of shell that waits for a signal, but not for ever.
const WAIT: &str = "i=0; while [ $i -lt 6000 ]; do sleep 0.05; i=$((i+1)); done";

/// What was on its way has come by then.
const SETTLED: Duration = Duration::from_millis(200);

fn only_child(pid: u32) -> u32 {
    let all = children(pid);
    assert_eq!(all.len(), 1, "children of {pid}");
    all[0]
}

#[test]
fn the_exit_status_is_that_of_the_program() {
    for status in [0, 1, 77, 255] {
        let exited = std_windlass().args(["run", "--stats", "sh", "-c", &format!("exit {status}")]).output().unwrap();
        assert_eq!(exited.status.code(), Some(status));
    }
}

#[test]
fn windlass_dies_by_the_signal_that_ended_the_program() {
    // Of every kind: with and without a core dump, ignored by Rust (PIPE), uncatchable, and a real-time one.
    for (name, number) in
        [("TERM", 15), ("INT", 2), ("HUP", 1), ("KILL", 9), ("PIPE", 13), ("SEGV", 11), ("ABRT", 6), ("40", 40)]
    {
        let output = windlass_with_default_signals()
            .args(["run", "--stats", "sh", "-c", &format!("kill -{name} $$")])
            .output()
            .unwrap();
        assert_eq!(output.status.signal(), Some(number), "{name}");
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("windlass: no process attached"), "{name}");
    }
}

/// The program's own dump is the one that matters, and could be overwritten.
#[test]
fn windlass_leaves_no_core_dump_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let line = format!("ulimit -c unlimited; exec {windlass} run --stats sh -c 'ulimit -c 0; kill -SEGV $$'");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(directory.path()).stderr(Stdio::null());
    clean_environment(&mut command);
    let status = command.status().unwrap();
    assert_eq!(status.signal(), Some(11));
    assert!(!status.core_dumped());
}

/// Writes a line for each signal that it is sent, and ends with 4 on SIGPWR, or after five minutes.
const COUNTER: &str = r#"
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static void got(int number) {
    if (number == SIGPWR) _exit(4);
    if (write(1, "got\n", 4) != 4) _exit(5);
}
int main(void) {
    struct sigaction action = { .sa_handler = got };
    int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGPWR };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, 0);
    if (write(1, "ready\n", 6) != 6) return 5;
    for (time_t end = time(0) + 300; time(0) < end;) poll(0, 0, 100);
}
"#;

fn counter(directory: &Path) -> PathBuf {
    let path = directory.join("counter");
    compile(COUNTER, &path, &[]);
    path
}

/// Two signals that come together may be one to the program, so that one attempt could miss a second delivery.
const ATTEMPTS: usize = 20;

#[test]
fn signals_are_passed_on_once() {
    let directory = tempfile::tempdir().unwrap();
    let counter = counter(directory.path());
    for name in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM", "WINCH", "CONT"] {
        let mut running = Running::start(&format!("exec {}", counter.display()));
        for _ in 0..ATTEMPTS {
            kill(name, running.id());
            assert_eq!(running.line(), "got\n", "{name}");
        }
        std::thread::sleep(SETTLED);
        kill("PWR", running.id());
        let (status, text) = running.end();
        assert_eq!((status.code(), text.as_str()), (Some(4), ""), "{name}");
    }
}

#[test]
fn a_program_without_a_handler_dies_of_the_signal_that_windlass_was_sent() {
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10)] {
        let running = Running::start("echo ready; exec sleep 300");
        kill(name, running.id());
        assert_eq!(running.end().0.signal(), Some(number), "{name}");
    }
}

/// nohup(1) and services rely on it.
#[test]
fn an_ignored_signal_stays_ignored() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_windlass"), "run", "--stats"]);
    clean_environment(&mut command);
    command.args(["sh", "-c", "kill -HUP $$ $PPID; sleep 0.1; exit 11"]).stderr(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(11));
}

/// As `docker exec` starts programs: the session's leader has no number in the pid namespace.
#[test]
fn a_session_that_was_started_outside_of_the_pid_namespace_is_no_obstacle() {
    // A shell can't trap what is ignored when it starts, as under nohup(1).
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", "unshare"]);
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    // The shell is the first process of the namespace, so that windlass is one that signals can end.
    command.args(["--pid", "--fork", "sh", "-c", "\"$@\"; exit $?", "sh", env!("CARGO_BIN_EXE_windlass")]);
    let line = format!("trap 'exit 6' HUP; (kill -HUP $PPID); {WAIT}; exit 11");
    command.args(["run", "--stats", "sh", "-c", &line]);
    clean_environment(&mut command);
    command.stderr(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(6));
}

/// With SIGCHLD ignored the kernel would throw the program's exit status away.
#[test]
fn the_exit_status_survives_an_ignored_sigchld() {
    // A parent that hears of no child would wait for ever.
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "300", "env", "--ignore-signal=CHLD"]);
    command.arg(env!("CARGO_BIN_EXE_windlass"));
    command.args(["run", "--stats", "sh", "-c", "exit 7"]);
    command.stderr(Stdio::null());
    clean_environment(&mut command);
    assert_eq!(command.status().unwrap().code(), Some(7));
}

#[test]
fn the_program_starts_with_the_signal_mask_of_windlass() {
    let blocked = |command: &mut Command| {
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        output.split_whitespace().nth(1).unwrap().to_owned()
    };
    let own = blocked(Command::new("grep").args(["SigBlk", "/proc/self/status"]));
    let below = blocked(std_windlass().args(["run", "--stats", "grep", "SigBlk", "/proc/self/status"]));
    assert_eq!(own, below);
}

/// As a shell sees it when a program suspends itself: its job stops, and `fg` continues it.
#[test]
fn windlass_stops_and_continues_with_the_program() {
    let running = Running::start("echo ready; kill -TSTP $$; echo continued; exit 3");
    let pid = running.id();
    eventually("windlass stops", || state_and_parent(pid).is_some_and(|(state, _)| state == 'T'));
    kill("CONT", pid);
    let (status, text) = running.end();
    assert_eq!((status.code(), text.as_str()), (Some(3), "continued\n"));
}

#[test]
fn a_stop_that_windlass_was_sent_reaches_the_program() {
    let running = Running::start(&format!("trap 'echo end; exit 4' PWR; echo ready; {WAIT}"));
    let (pid, program) = (running.id(), only_child(running.id()));
    kill("TSTP", pid);
    for each in [program, pid] {
        eventually("both stop", || state_and_parent(each).is_some_and(|(state, _)| state == 'T'));
    }
    kill("CONT", pid);
    for each in [program, pid] {
        eventually("both continue", || state_and_parent(each).is_some_and(|(state, _)| state != 'T'));
    }
    kill("PWR", pid);
    let (status, text) = running.end();
    assert_eq!((status.code(), text.as_str()), (Some(4), "end\n"));
}

/// Whoever stops the program alone continues it alone; a stopped windlass would never see its end.
#[test]
fn windlass_stays_awake_when_another_process_stops_the_program() {
    let running = Running::start(&format!("trap 'echo end; exit 4' PWR; echo ready; {WAIT}"));
    let (pid, program) = (running.id(), only_child(running.id()));
    kill("STOP", program);
    eventually("the program stops", || state_and_parent(program).is_some_and(|(state, _)| state == 'T'));
    std::thread::sleep(SETTLED);
    // On a busy machine it may just be waking up. If it had stopped, nobody would continue it.
    eventually("windlass waits", || state_and_parent(pid).unwrap().0 == 'S');
    kill("CONT", program);
    kill("PWR", program);
    let (status, text) = running.end();
    assert_eq!((status.code(), text.as_str()), (Some(4), "end\n"));
}

/// Children that windlass did not start: left by the program that it replaced, or orphans in a container.
#[test]
fn foreign_children_do_not_stay_zombies() {
    let line = format!("sleep 0.1 & exec {} run --stats sh -c 'echo ready; cat'", env!("CARGO_BIN_EXE_windlass"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    clean_environment(&mut command);
    let mut child = command.spawn().unwrap();
    eventually("only the program is left", || children(child.id()).len() == 1);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Ctrl-C goes from the terminal to the whole foreground process group: the program must not get it a second time.
#[test]
fn an_interrupt_from_the_terminal_arrives_once() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("exec {} run --stats {}", env!("CARGO_BIN_EXE_windlass"), counter(directory.path()).display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    clean_environment(&mut command);
    let mut terminal = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = terminal.stdin.take().unwrap();
    let mut screen = BufReader::new(terminal.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("ready") {
        assert_ne!(screen.read_line(&mut seen).unwrap(), 0, "{seen}");
    }
    for attempt in 1..=ATTEMPTS {
        keys.write_all(b"\x03").unwrap();
        while seen.matches("got").count() < attempt {
            assert_ne!(screen.read_line(&mut seen).unwrap(), 0, "{seen}");
        }
    }
    std::thread::sleep(SETTLED);
    kill("PWR", only_child(terminal.id()));
    screen.read_to_string(&mut seen).unwrap();
    assert_eq!(terminal.wait().unwrap().code(), Some(4), "{seen}");
    assert_eq!(seen.matches("got").count(), ATTEMPTS, "{seen}");
    drop(keys);
}
