//! The events that libwindlass_trace.so writes, one per line (docs/trace-events.md).
//!
//! The lines come from other processes, and may be truncated, out of order or hostile. A missing or null field is
//! unknown, and stays unknown; a field of the wrong type makes the whole line unreadable. serde makes None of a missing
//! `Option`, unless the field has a function of its own (`deserialize_with`): then it needs `default`.

use serde::{Deserialize, Deserializer};

/// A line of the trace.
#[derive(Debug, Deserialize)]
#[serde(tag = "e", rename_all = "lowercase")]
pub enum Event {
    /// A process, or a new program in a process.
    Process(Process),
    /// An object of a process; addresses in stacks are relative to objects.
    Module(Module),
    /// A call that loads certificates.
    Load(Box<Load>),
    /// A certificate chain was verified.
    Verify(Verify),
    /// A TLS connection was made.
    Connection(Connection),
    /// A store was freed.
    Release(Release),
    /// A process ended normally.
    Exit(Exit),
    /// Events that could not be written.
    Lost(Lost),
    /// An event of a later version.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// The process: its pid namespace, and its id there.
    pub fn process(&mut self) -> Option<(Option<u64>, &mut u32)> {
        Some(match self {
            Event::Process(event) => (event.ns, &mut event.pid),
            Event::Module(event) => (event.ns, &mut event.pid),
            Event::Load(event) => (event.ns, &mut event.pid),
            Event::Verify(event) => (event.ns, &mut event.pid),
            Event::Connection(event) => (event.ns, &mut event.pid),
            Event::Release(event) => (event.ns, &mut event.pid),
            Event::Exit(event) => (event.ns, &mut event.pid),
            Event::Lost(_) | Event::Unknown => return None,
        })
    }
}

/// The first event of a process, and of each program that it executes.
#[derive(Debug, Deserialize)]
pub struct Process {
    pub pid: u32,
    pub ns: Option<u64>,
    pub ppid: Option<u32>,
    pub t: Option<u64>,
    pub exe: Option<String>,
    pub args: Option<Vec<String>>,
}

/// An object, with its number in the stacks of this process.
#[derive(Debug, Deserialize)]
pub struct Module {
    pub pid: u32,
    pub ns: Option<u64>,
    pub id: u32,
    pub path: String,
    pub build_id: Option<String>,
}

/// A call of a loading function that has returned. Times are nanoseconds.
#[derive(Debug, Deserialize)]
pub struct Load {
    pub pid: u32,
    pub ns: Option<u64>,
    pub tid: u32,
    /// The start of the call, in nanoseconds.
    pub t: Option<u64>,
    pub wall: Option<u64>,
    /// CPU time of the thread in the call.
    pub cpu: Option<u64>,
    /// CPU time of the process so far.
    pub process_cpu: Option<u64>,
    pub entry: String,
    /// 0 unless another loading function made the call.
    #[serde(default)]
    pub depth: u32,
    /// The number of calls that the event stands for; 1 if it is missing.
    pub calls: Option<u64>,
    /// Continues the load of an earlier event: a program adds certificates one by one.
    #[serde(default)]
    pub more: bool,
    pub library: Option<String>,
    #[serde(default, deserialize_with = "sources")]
    pub sources: Vec<Source>,
    /// The directory that relative paths of the sources refer to.
    pub cwd: Option<String>,
    pub result: Option<i64>,
    /// The number of certificates that the store gained.
    pub certificates: Option<i64>,
    /// Parsed certificates, duplicates included.
    pub parsed: Option<i64>,
    pub memory: Option<i64>,
    #[serde(default, deserialize_with = "address")]
    pub store: Option<u64>,
    /// Objects and addresses in them, innermost first.
    pub stack: Option<Vec<(Option<u32>, u64)>>,
    /// Lines of an interpreted program, innermost first.
    pub script: Option<Vec<ScriptFrame>>,
}

impl Load {
    /// The number of calls.
    pub fn calls(&self) -> u64 {
        self.calls.unwrap_or(1)
    }

    /// Certificates that were parsed; or, if only that is known, those that the store accepted.
    pub fn parsed(&self) -> Option<u64> {
        self.parsed.or(self.certificates).and_then(|count| u64::try_from(count).ok())
    }

    /// Whether it only registered a directory, whose files are read later by the verifications that need them.
    pub fn only_notes(&self) -> bool {
        let is_directory = |source: &Source| source.kind.ends_with("directory");
        self.is_openssl()
            && self.parsed() == Some(0)
            && !self.sources.is_empty()
            && self.sources.iter().all(is_directory)
    }

    /// Whether it is a function of OpenSSL.
    pub fn is_openssl(&self) -> bool {
        self.library.as_deref().is_some_and(|library| library.starts_with("OpenSSL"))
    }

    /// OpenSSL's functions return 0 for failure; GnuTLS's return the number of certificates, or a negative number.
    pub fn failed(&self) -> bool {
        let worst = if self.library.as_deref().is_some_and(|library| library.starts_with("GnuTLS")) { -1 } else { 0 };
        self.result.is_some_and(|result| result <= worst)
    }
}

/// A source that a load was asked to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
pub struct Source {
    /// The kind, by its name in docs/trace-events.md: `default-file` and others.
    pub kind: String,
    /// Its path, if it is a file or a directory.
    pub path: Option<String>,
}

/// A line of an interpreted program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct ScriptFrame {
    pub file: Option<String>,
    pub line: Option<u32>,
    pub function: Option<String>,
}

/// A verification that has returned.
#[derive(Debug, Deserialize)]
pub struct Verify {
    pub pid: u32,
    pub ns: Option<u64>,
    pub wall: Option<u64>,
    pub ok: Option<bool>,
    /// SHA-256 of the trust anchor that ended the chain.
    pub anchor: Option<String>,
}

/// The first handshake of a connection that succeeded.
#[derive(Debug, Deserialize)]
pub struct Connection {
    pub pid: u32,
    pub ns: Option<u64>,
    pub tid: Option<u32>,
    pub t: Option<u64>,
}

/// A store was freed.
#[derive(Debug, Deserialize)]
pub struct Release {
    pub pid: u32,
    pub ns: Option<u64>,
    #[serde(default, deserialize_with = "address")]
    pub store: Option<u64>,
}

/// The end of a process.
#[derive(Debug, Deserialize)]
pub struct Exit {
    pub pid: u32,
    pub ns: Option<u64>,
    pub t: Option<u64>,
    pub cpu: Option<u64>,
    pub max_rss: Option<u64>,
}

/// Events that a process could not write before the next successful one.
#[derive(Debug, Deserialize)]
pub struct Lost {
    pub events: u64,
}

/// `"0x55d0…"`: JSON readers do not guarantee numbers of 64 bits.
fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let number = |text: String| {
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        u64::from_str_radix(digits, 16).map_err(serde::de::Error::custom)
    };
    text.map(number).transpose()
}

fn sources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Source>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
