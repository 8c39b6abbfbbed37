//! Reads events line by line, in bounded memory for any file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::event::Event;

/// Longer than any line that the library writes: a stack of 256 frames with as many script lines of 4 KiB each.
const MAX_LINE: u64 = 2 << 20;

/// The numbers of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lines {
    /// Events that were read.
    pub read: u64,
    /// Lines that are not events: truncated, damaged, or written by something else.
    pub unreadable: u64,
    /// Events of kinds unknown to this version.
    pub unknown: u64,
}

/// Calls `each` with every event now in the file. Running processes may append more without end, which is not read.
pub fn read_file(file: &mut File, each: impl FnMut(Event)) -> io::Result<Lines> {
    let length = file.metadata()?.len();
    read(BufReader::new(Data { file, at: 0, end: 0 }.take(length)), each)
}

/// The data of a file without its holes: `truncate` makes holes of any size at no cost.
struct Data<'a> {
    file: &'a mut File,
    at: u64,
    /// The end of the current run of data.
    end: u64,
}

impl Read for Data<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.end {
            self.at = match rustix::fs::seek(&*self.file, SeekFrom::Data(self.at)) {
                Ok(start) => start,
                // No more data.
                Err(Errno::NXIO) => return Ok(0),
                Err(errno) => return Err(errno.into()),
            };
            self.end = rustix::fs::seek(&*self.file, SeekFrom::Hole(self.at))?;
            self.file.seek(io::SeekFrom::Start(self.at))?;
        }
        let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..room])?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Calls `each` with every event.
pub fn read(mut lines: impl BufRead, mut each: impl FnMut(Event)) -> io::Result<Lines> {
    let mut counts = Lines::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(counts);
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE {
            skip_line(&mut lines)?;
            counts.unreadable += 1;
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(Event::Unknown) => counts.unknown += 1,
            Ok(event) => {
                counts.read += 1;
                each(event);
            }
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(_) => counts.unreadable += 1,
        }
    }
}

fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = lines.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        lines.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn counts(text: &[u8]) -> (Lines, Vec<Event>) {
        let mut events = Vec::new();
        (read(text, |event| events.push(event)).unwrap(), events)
    }

    #[test]
    fn every_kind_of_event_is_read() {
        let text = concat!(
            r#"{"e":"process","pid":1,"ppid":0,"t":5,"exe":"/usr/bin/x","args":["x","y"]}"#,
            "\n",
            r#"{"e":"module","pid":1,"id":0,"path":"/lib/x.so","build_id":null}"#,
            "\n",
            r#"{"e":"load","pid":1,"tid":1,"t":6,"wall":7,"cpu":8,"process_cpu":9,"entry":"f","depth":0,"#,
            r#""library":"OpenSSL 3","sources":[{"kind":"memory","path":null}],"result":1,"certificates":144,"#,
            r#""memory":-3,"store":"0x7f00","stack":[[0,16],[null,1]],"script":[{"file":"a.py","line":3,"#,
            r#""function":"f"}]}"#,
            "\n",
            r#"{"e":"verify","pid":1,"tid":1,"t":0,"wall":0,"cpu":0,"ok":true,"store":"0x1","anchor":null}"#,
            "\n",
            r#"{"e":"connection","pid":1,"tid":1,"t":0,"wall":0,"cpu":0}"#,
            "\n",
            r#"{"e":"release","pid":1,"t":0,"store":"0x7f00"}"#,
            "\n",
            r#"{"e":"exit","pid":1,"t":0,"cpu":0,"max_rss":0}"#,
            "\n"
        )
        .as_bytes();
        let (lines, events) = counts(text);
        assert_eq!(lines, Lines { read: 7, unreadable: 0, unknown: 0 });
        let Event::Load(load) = &events[2] else { panic!("{events:?}") };
        assert_eq!((load.store, load.memory, load.stack.as_ref().map_or(0, Vec::len)), (Some(0x7f00), Some(-3), 2));
    }

    #[test]
    fn what_is_no_event_is_counted_and_passed_over() {
        let good = r#"{"e":"connection","pid":1}"#;
        let deep = "[".repeat(100_000);
        let wrong = [r#"{"e":"load","pid":1"#, r#"{"e":"release","pid":-1}"#, "\u{0}", r#"{"pid":1}"#, "7", &deep];
        for wrong in wrong {
            let (lines, events) = counts(format!("{good}\n{wrong}\n\n{good}").as_bytes());
            assert_eq!((lines.read, lines.unreadable, events.len()), (2, 1, 2), "{wrong}");
        }
        assert_eq!(counts(b"{\"e\":\"later\",\"pid\":{}}").0, Lines { unknown: 1, ..Lines::default() });
        assert_eq!(counts(b"{\"e\":\"exit\",\"pid\":1,\"x\":\"\xff\"}\n").0.unreadable, 1);
    }

    #[test]
    fn holes_of_a_file_are_not_read() {
        let mut file = tempfile::tempfile().unwrap();
        let line = "{\"e\":\"exit\",\"pid\":1}\n";
        file.write_all(line.as_bytes()).unwrap();
        // Reading a terabyte would take minutes.
        file.set_len(1 << 40).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        file.write_all(format!("\n{line}").as_bytes()).unwrap();
        let lines = read_file(&mut file, |_| {}).unwrap();
        assert_eq!(lines.read, 2, "{lines:?}");
        assert!(lines.unreadable <= 2, "what is left of the hole: {lines:?}");
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let endless = io::repeat(b'x').take(MAX_LINE * 5 + 17);
        let text = io::BufReader::new(endless.chain(&b"\n{\"e\":\"exit\",\"pid\":1}\n"[..]));
        assert_eq!(read(text, |_| {}).unwrap(), Lines { read: 1, unreadable: 1, unknown: 0 });
    }
}
