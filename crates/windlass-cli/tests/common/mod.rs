//! What the tests of the command share.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The command with nothing of this machine's environment but PATH. Variables as SSL_CERT_FILE would change results.
pub fn windlass() -> assert_cmd::Command {
    assert_cmd::Command::from_std(std_windlass())
}

/// The same as a `std` command, for tests that talk to the running process.
pub fn std_windlass() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.env_clear().env("PATH", std::env::var_os("PATH").expect("PATH"));
    command.env("WINDLASS_PRELOAD_LIBRARY", stand_in());
    // Neither the machine's compiled stores nor the user's are read or written, unless a test says where its own are.
    command.env("WINDLASS_STORE", "");
    command
}

/// The same with default dispositions of the signals that nohup(1) and background jobs of a shell ignore, which the
/// tests themselves may have been started with.
pub fn windlass_with_default_signals() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT").arg(env!("CARGO_BIN_EXE_windlass"));
    clean_environment(&mut command);
    command
}

/// Gives another program, which starts windlass, the environment of [`std_windlass`].
pub fn clean_environment(command: &mut Command) {
    command.env_clear();
    for (name, value) in std_windlass().get_envs() {
        command.env(name, value.unwrap_or_default());
    }
}

/// A shared object that does nothing, in place of the preload library.
pub fn stand_in() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = directory.join("stand-in.so");
        // Several test programs may do this at the same time.
        let own = directory.join(format!("stand-in.{}.so", std::process::id()));
        compile("", &own, &["-shared"]);
        std::fs::rename(own, &path).expect("stand-in");
        path
    })
}

/// A shared object that says of itself what glibc 2.17 says.
pub fn old_libc() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = directory.join("old-libc.so.6");
        let own = directory.join(format!("old-libc.{}.so.6", std::process::id()));
        let versions = own.with_extension("map");
        std::fs::write(&versions, "GLIBC_2.2.5 { global: first; }; GLIBC_2.17 { global: last; local: *; };\n")
            .expect("versions");
        let script = format!("-Wl,--version-script={}", versions.display());
        compile("int first, last;", &own, &["-shared", "-nostdlib", "-Wl,-soname,libc.so.6", &script]);
        std::fs::rename(own, &path).expect("libc");
        std::fs::remove_file(versions).expect("versions");
        path
    })
}

/// The real preload library, which the Makefile builds and names.
pub fn preload_library() -> PathBuf {
    let path = std::env::var_os("WINDLASS_PRELOAD_LIBRARY").expect(
        "WINDLASS_PRELOAD_LIBRARY is not set: build the library (cargo build -p windlass-preload) and name it, or \
         use make test",
    );
    let path = std::path::absolute(path).expect("path of the library");
    assert!(path.is_file(), "{} is not there", path.display());
    path
}

/// Compiles C.
pub fn compile(source: &str, output: &Path, options: &[&str]) {
    let file = output.with_extension("c");
    std::fs::write(&file, source).expect("source file");
    let status = Command::new("cc").args(options).arg("-o").arg(output).arg(&file).status().expect("cc");
    assert!(status.success(), "cc could not compile {}", file.display());
    std::fs::remove_file(file).expect("source file");
}

/// Makes an executable script.
pub fn script(path: &Path, text: &str) {
    let written = path.with_extension("written");
    std::fs::write(&written, text).expect("script");
    copy_program(&written, path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("mode");
}

/// A certificate of tests/fixtures.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

/// Certificates of tests/fixtures, one after the other in a file.
pub fn bundle(directory: &Path, names: &[&str]) -> PathBuf {
    let path = directory.join("bundle.pem");
    let pem: Vec<_> = names.iter().map(|name| std::fs::read_to_string(fixture(name)).expect("fixture")).collect();
    std::fs::write(&path, pem.concat()).expect("bundle");
    path
}

/// Waits until something is so, but not for ever.
pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is() {
        assert!(Instant::now() < deadline, "did not come: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// State (`R`, `S`, `T`, `Z`, ...) and parent of a process, from /proc/PID/stat.
pub fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let pids =
        std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| state_and_parent(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

/// Waits until nothing runs any more in a process group. Zombies may stay: whose child they are may not care.
pub fn wait_for_group(group: u32) {
    let is_member = |entry: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        // Behind the name: state, parent, group (proc(5)).
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(!["Z", "X"].contains(fields.first()?) && fields.get(2)?.parse() == Ok(group))
    };
    let all = || std::fs::read_dir("/proc").expect("/proc");
    eventually("the end of all processes of a group", || !all().any(|entry| is_member(entry) == Some(true)));
}

/// Sends a signal, by its name without SIG. The shell has kill built in; the program is not on every system.
pub fn kill(signal: &str, pid: u32) {
    let status = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", signal, &pid.to_string()]).status();
    assert!(status.expect("sh").success(), "kill -s {signal} {pid}");
}

/// What `windlass ls --json` says of a source.
pub fn listing_of(source: &Path) -> serde_json::Value {
    let assert = windlass().args(["ls", "--json"]).arg(source).assert().success().stderr("");
    serde_json::from_slice(&assert.get_output().stdout).expect("JSON")
}

/// Copies a file that is to be executed. A process of its own does it: while this one had the file open for writing,
/// another test's fork could inherit the descriptor, and the file would be busy.
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).status().expect("cp");
    assert!(copied.success(), "cp to {} failed", to.display());
}

/// What `windlass ARGUMENTS --json` prints, with this directory of compiled stores, and its exit status.
pub fn json_of(store: &Path, arguments: &[&std::ffi::OsStr]) -> (serde_json::Value, i32) {
    let output = std_windlass().env("WINDLASS_STORE", store).args(arguments).arg("--json").output().expect("windlass");
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (json, output.status.code().expect("an exit status"))
}

/// Fails if a field of these objects is not in the help of this subcommand.
pub fn assert_documented(subcommand: &[&str], objects: &[&serde_json::Value]) {
    let help = windlass().args(subcommand).arg("--help").assert().success().get_output().stdout.clone();
    let help = String::from_utf8(help).expect("UTF-8");
    let (_, fields) = help.split_once("Output of --json").expect("a section about the JSON");
    for field in objects.iter().flat_map(|object| object.as_object().expect("an object").keys()) {
        let is_field = |line: &str| {
            let words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
            words.into_iter().any(|word| word == field)
        };
        assert!(fields.lines().any(is_field), "{field} of {subcommand:?} is not documented");
    }
}

/// Whether the tests run as root, and so can become others.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
