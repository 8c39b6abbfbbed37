//! The fanotify group: its marks, and the records that it delivers (fanotify(7)).

use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::fs::CWD;

use super::descriptor::Descriptor;
use super::who::Opener;

/// In bytes. Large enough for some hundred events, small enough for their descriptors to fit into the usual limit of
/// 1,024.
const BUFFER: usize = 4096;

/// A group that reports opens.
#[derive(Debug)]
pub struct Marks {
    group: Fanotify,
    mask: MaskFlags,
}

/// A record that the kernel delivers.
#[derive(Debug)]
pub enum Event {
    /// A process opened this file. The flag says that it has also closed it: the kernel merges the two.
    Open(Opener, Descriptor, bool),
    /// A process closed this file.
    Close(Opener, Descriptor),
    /// The kernel's queue overflowed: events were lost.
    Overflow,
}

impl Marks {
    /// Makes the group, which reports closes as well on demand. Needs CAP_SYS_ADMIN.
    pub fn new(with_closes: bool) -> Result<Marks, Errno> {
        // Without FAN_UNLIMITED_QUEUE: if this process is stopped, the kernel keeps 16,384 events, and reports an
        // overflow beyond that.
        let flags = InitFlags::FAN_CLASS_NOTIF
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_MARKS;
        let files = EventFFlags::O_RDONLY | EventFFlags::O_LARGEFILE | EventFFlags::O_CLOEXEC | EventFFlags::O_NONBLOCK;
        let group = match Fanotify::init(flags | InitFlags::FAN_REPORT_PIDFD, files) {
            // Pidfds exist since Linux 5.15.
            Err(Errno::EINVAL) => Fanotify::init(flags, files)?,
            made => made?,
        };
        let mask = if with_closes { MaskFlags::FAN_OPEN | MaskFlags::FAN_CLOSE } else { MaskFlags::FAN_OPEN };
        Ok(Marks { group, mask })
    }

    /// Reports opens of a file. Marking it twice has no further effect.
    pub fn file(&self, path: &Path) -> Result<(), Errno> {
        self.mark(self.mask, path)
    }

    /// Reports opens of a directory, and of the files in it.
    pub fn directory(&self, path: &Path) -> Result<(), Errno> {
        self.mark(self.mask | MaskFlags::FAN_EVENT_ON_CHILD | MaskFlags::FAN_ONDIR, path)
    }

    fn mark(&self, mask: MaskFlags, path: &Path) -> Result<(), Errno> {
        self.group.mark(MarkFlags::FAN_MARK_ADD, mask, CWD, Some(path))
    }

    /// The waiting events; empty if there are none.
    pub fn read(&self) -> Result<Vec<Event>, Errno> {
        let mut buffer = [0; BUFFER];
        match rustix::io::read(&self.group, &mut buffer) {
            Ok(length) => Ok(events(&buffer[..length])),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(errno) => Err(Errno::from_raw(errno.raw_os_error())),
        }
    }
}

impl AsFd for Marks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }
}

/// Takes over the descriptors of all records. `struct fanotify_event_metadata`: length (4 bytes), version (1), reserved
/// (1), length of the metadata (2), mask (8), descriptor (4), pid (4); after it `struct fanotify_event_info_pidfd`:
/// type (1), padding (1), length (2), pidfd (4).
fn events(mut records: &[u8]) -> Vec<Event> {
    const METADATA: usize = 24;
    let mut events = Vec::new();
    while let Some(length) = number(records, 0).map(|length| length as usize) {
        if length < METADATA || length > records.len() || records[4] != nix::sys::fanotify::FANOTIFY_METADATA_VERSION {
            break;
        }
        let (record, rest) = records.split_at(length);
        records = rest;
        let mask = u64::from(number(record, 8).unwrap_or(0)) | u64::from(number(record, 12).unwrap_or(0)) << 32;
        let process = pidfd(&record[METADATA..]);
        let file = descriptor(record, 16);
        let pid = number(record, 20).unwrap_or(0);
        if mask & MaskFlags::FAN_Q_OVERFLOW.bits() != 0 {
            events.push(Event::Overflow);
        } else if let Some(file) = file {
            let has_pidfd = process.is_some();
            let opener = Opener { pid, process: process.flatten(), has_pidfd };
            let has = |flag: MaskFlags| mask & flag.bits() != 0;
            events.push(match has(MaskFlags::FAN_OPEN) {
                true => Event::Open(opener, file, has(MaskFlags::FAN_CLOSE)),
                false => Event::Close(opener, file),
            });
        }
    }
    events
}

/// `Some(None)`: there is a pidfd record, and it says that the process has ended.
fn pidfd(information: &[u8]) -> Option<Option<Descriptor>> {
    const FAN_EVENT_INFO_TYPE_PIDFD: u8 = 4;
    (information.first() == Some(&FAN_EVENT_INFO_TYPE_PIDFD)).then(|| descriptor(information, 4))
}

fn descriptor(bytes: &[u8], at: usize) -> Option<Descriptor> {
    Descriptor::new(RawFd::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(mask: u64, pidfd: bool) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend((24 + if pidfd { 8_u32 } else { 0 }).to_ne_bytes());
        record.extend([3, 0, 24, 0]);
        record.extend(mask.to_ne_bytes());
        // FAN_NOFD: no descriptor that a drop could close.
        record.extend((-1_i32).to_ne_bytes());
        record.extend(42_u32.to_ne_bytes());
        if pidfd {
            record.extend([4, 0, 8, 0]);
            record.extend((-1_i32).to_ne_bytes());
        }
        record
    }

    #[test]
    fn an_overflow_is_told() {
        let mut records = record(0x20, true);
        records.extend(record(0x4000, false));
        assert!(matches!(events(&records)[..], [Event::Overflow]));
    }

    #[test]
    fn half_a_record_is_none() {
        let whole = record(0x4000, true);
        for length in 0..whole.len() {
            assert!(events(&whole[..length]).is_empty());
        }
        let mut damaged = whole.clone();
        damaged[0] = 0;
        assert!(events(&damaged).is_empty());
        damaged[..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(events(&damaged).is_empty());
    }
}
