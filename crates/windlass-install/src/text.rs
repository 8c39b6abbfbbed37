//! Adding our part to the content of files, and removing it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};
use windlass_machine::anchors::name::hex;

/// First line of a block in a profile.
pub const BEGIN: &str = "# >>> windlass >>> put here by `windlass install --shell`, removed by `windlass uninstall`";
/// Last line of the block.
pub const END: &str = "# <<< windlass <<<";

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Whether a list like the one in /etc/ld.so.preload holds a name.
pub fn has_name(text: &[u8], library: &Path) -> bool {
    listed(text).any(|name| name == library)
}

/// The names in a list like that: separated by spaces, tabs, line feeds or colons; "#" begins a comment (glibc,
/// elf/rtld.c, to which a carriage return is a part of a name).
pub fn listed(text: &[u8]) -> impl Iterator<Item = &Path> {
    text.split(|byte| *byte == b'\n').flat_map(names).map(|name| Path::new(OsStr::from_bytes(name)))
}

/// The list with a name added at its end, on a line of its own.
pub fn with_name(text: &[u8], library: &Path) -> Vec<u8> {
    let mut text = ended(text);
    text.extend(library.as_os_str().as_bytes());
    text.push(b'\n');
    text
}

/// The list without a name; None if it does not hold the name.
pub fn without_name(text: &[u8], library: &Path) -> Option<Vec<u8>> {
    if !has_name(text, library) {
        return None;
    }
    let library = library.as_os_str().as_bytes();
    let mut kept = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if names(line).all(|name| name != library) {
            kept.extend(line);
        } else if names(line).any(|name| name != library) || line.contains(&b'#') {
            kept.extend(cut(line, library));
        }
    }
    Some(kept)
}

fn names(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let code = line.split(|byte| *byte == b'#').next().unwrap_or_default();
    code.split(|byte| is_separator(*byte)).filter(|name| !name.is_empty())
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b':')
}

/// The line without the name and the separators after it.
fn cut(line: &[u8], library: &[u8]) -> Vec<u8> {
    let code = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
    let mut kept = Vec::new();
    let mut at = 0;
    while at < code {
        let end = line[at..code].iter().position(|byte| is_separator(*byte)).map_or(code, |length| at + length);
        let next = line[end..code].iter().position(|byte| !is_separator(*byte)).map_or(code, |length| end + length);
        if &line[at..end] != library {
            kept.extend(&line[at..next]);
        } else if next == code && line.ends_with(b"\n") && code == line.len() {
            kept.push(b'\n');
        }
        at = next.max(end + usize::from(end == at));
    }
    kept.extend(&line[code..]);
    kept
}

/// A profile with our block at its end.
pub fn with_block(text: &[u8], block: &str) -> Vec<u8> {
    let mut text = ended(text);
    text.extend(block.as_bytes());
    text
}

/// A profile without our block; None if it holds no block.
pub fn without_block(text: &[u8]) -> Option<Vec<u8>> {
    let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let is = |line: &[u8], marker: &str| line.trim_ascii_end() == marker.as_bytes();
    let begin = lines.iter().position(|line| is(line, BEGIN))?;
    let length = lines[begin..].iter().position(|line| is(line, END))?;
    Some([&lines[..begin], &lines[begin + length + 1..]].concat().concat())
}

/// `text` with a line end after its last line.
fn ended(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::record::Mark;
    use super::*;

    const OURS: &str = "/usr/lib/windlass/ours.so";

    fn without(text: &str) -> Option<String> {
        Mark::Names(vec![OURS.into()]).taken_out_of(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_name_is_put_in_and_taken_out() {
        for before in ["", "/lib/a.so\n", "# nothing\n", "/lib/a.so:/lib/b.so /lib/c.so # x\n", "\n\n"] {
            let after = with_name(before.as_bytes(), Path::new(OURS));
            assert!(has_name(&after, Path::new(OURS)) && !has_name(before.as_bytes(), Path::new(OURS)));
            assert_eq!(without(std::str::from_utf8(&after).unwrap()).as_deref(), Some(before));
        }
        assert_eq!(with_name(b"/lib/a.so", Path::new(OURS)), format!("/lib/a.so\n{OURS}\n").as_bytes());
    }

    #[test]
    fn a_list_is_read_as_the_loader_reads_it() {
        let names = |text: &'static str| listed(text.as_bytes()).map(|name| name.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(
            names("/a.so:/b.so\t/c.so  /d.so # /e.so\n#/f.so\n/g.so"),
            ["/a.so", "/b.so", "/c.so", "/d.so", "/g.so"]
        );
        assert_eq!(names("/a.so\r\n/b.so\x0b/c.so\n"), ["/a.so\r", "/b.so\x0b/c.so"]);
    }

    #[test]
    fn only_the_name_is_taken_out_of_a_line_with_others() {
        let text = |line: &str| line.replace("@", OURS);
        for (line, left) in [
            ("@\n", ""),
            ("  @ \n", ""),
            ("/a.so @\n", "/a.so \n"),
            ("@ /a.so\n", "/a.so\n"),
            ("/a.so:@:/b.so\n", "/a.so:/b.so\n"),
            ("@ # why\n", "# why\n"),
            ("/a.so\n@\n/b.so", "/a.so\n/b.so"),
            ("@ @\n/b.so\n", "/b.so\n"),
            (" /a.so @", " /a.so "),
        ] {
            assert_eq!(without(&text(line)).as_deref(), Some(left), "{line}");
        }
        assert_eq!(without(&text("/a.so # @\n")), None);
        assert_eq!(without(&text("@.other\n")), None);
    }

    #[test]
    fn a_block_is_put_in_and_taken_out() {
        let block = format!("{BEGIN}\nexport X=1\n{END}\n");
        let after = with_block(b"umask 022", &block);
        assert_eq!(after, format!("umask 022\n{block}").as_bytes());
        let more = [&after[..], b"alias x=y\n"].concat();
        assert_eq!(Mark::Block.taken_out_of(&more).unwrap(), b"umask 022\nalias x=y\n");
        assert_eq!(Mark::Block.taken_out_of(b"umask 022\n"), None);
        assert_eq!(Mark::Block.taken_out_of(format!("{BEGIN}\nexport X=1\n").as_bytes()), None, "no end marker");
    }
}
