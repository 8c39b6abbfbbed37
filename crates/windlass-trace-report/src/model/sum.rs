//! Sums over calls.

use serde::Serialize;

use super::super::event::Load;

/// Sums over calls. The field names are those of the JSON, which `windlass trace --help` documents.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sum {
    /// The number of calls.
    pub calls: u64,
    /// Certificates that they parsed.
    pub certificates: u64,
    /// Wall time in nanoseconds.
    pub wall: u64,
    /// CPU time in nanoseconds.
    pub cpu: u64,
}

impl Sum {
    /// Of one event.
    pub fn of(load: &Load) -> Sum {
        Sum {
            calls: load.calls(),
            certificates: load.parsed().unwrap_or(0),
            wall: load.wall.unwrap_or(0),
            cpu: load.cpu.unwrap_or(0),
        }
    }

    /// Adds other calls.
    pub fn add(&mut self, other: Sum) {
        self.calls = self.calls.saturating_add(other.calls);
        self.certificates = self.certificates.saturating_add(other.certificates);
        self.wall = self.wall.saturating_add(other.wall);
        self.cpu = self.cpu.saturating_add(other.cpu);
    }
}
