//! The strict subset of PEM: CERTIFICATE blocks of plain base64, comments around them, and CRLs if they are wanted.
//!
//! `PEM_read_bio` (OpenSSL, crypto/pem/pem_lib.c, 1.1.1 to 4.0) must read every file accepted here as the same blocks
//! with the same bytes. It reads lines of at most 254 bytes with `BIO_gets`, strips blanks at their ends, takes a line
//! as the beginning of a block if it starts with `-----BEGIN ` and ends with `-----`, and stops at a line that starts
//! with a NUL.

use memchr::{memchr, memmem};

use crate::certificate::MAX_CERTIFICATE;
use crate::crl::MAX_CRL;
use crate::error::{PemFault, Unsupported};
use crate::source::Contents;

/// The kinds of blocks that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Certificate,
    Crl,
}

impl Label {
    fn of(line: &[u8], contents: Contents) -> Option<Label> {
        match line {
            b"-----BEGIN CERTIFICATE-----" => Some(Label::Certificate),
            b"-----BEGIN X509 CRL-----" if contents == Contents::WithCrls => Some(Label::Crl),
            _ => None,
        }
    }

    fn end(self) -> &'static [u8] {
        match self {
            Label::Certificate => b"-----END CERTIFICATE-----",
            Label::Crl => b"-----END X509 CRL-----",
        }
    }

    /// The most characters of base64.
    fn most(self) -> usize {
        let bytes = match self {
            Label::Certificate => MAX_CERTIFICATE,
            Label::Crl => MAX_CRL,
        };
        bytes / 3 * 4
    }
}

/// Well below the 254 bytes at which `BIO_gets` would split a line in two.
const MAX_COMMENT: usize = 200;
/// `PEM_write_bio` writes lines of 64; RFC 2045 allows 76.
const MAX_BASE64_LINE: usize = 76;

/// Enough for nearly all certificates: the buffer does not have to grow.
const USUAL_BLOCK: usize = 3 << 10;

/// The blocks of a file, one after the other.
pub(crate) struct Blocks<'a> {
    rest: &'a [u8],
    /// The number of lines taken, for line numbers in errors.
    line: u64,
    /// The base64 of one block without its line ends.
    text: Vec<u8>,
}

impl<'a> Blocks<'a> {
    pub fn new(pem: &'a [u8]) -> Blocks<'a> {
        Blocks { rest: pem, line: 0, text: Vec::new() }
    }

    /// Goes to the next block, which [`Blocks::block_into`] reads. None at the end.
    pub fn next_label(&mut self, contents: Contents) -> Result<Option<Label>, Unsupported> {
        while let Some(line) = self.next_line() {
            if let Some(label) = Label::of(line, contents) {
                return Ok(Some(label));
            }
            self.comment(line)?;
        }
        Ok(None)
    }

    fn comment(&self, line: &[u8]) -> Result<(), Unsupported> {
        if self.line == 1 && matches!(line, [0xEF, 0xBB, 0xBF, ..] | [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..]) {
            return Err(self.fault(PemFault::ByteOrderMark));
        }
        if line.starts_with(b"-----")
            || memmem::find(line, b"-----BEGIN").is_some()
            || memmem::find(line, b"-----END").is_some()
        {
            return Err(self.fault(PemFault::OtherLabel));
        }
        if line.len() >= MAX_COMMENT {
            return Err(self.fault(PemFault::LongLine));
        }
        if memchr(0, line).is_some() {
            return Err(self.fault(PemFault::NulByte));
        }
        Ok(())
    }

    /// Appends the bytes of this block to `out` and returns their number.
    pub fn block_into(&mut self, label: Label, out: &mut Vec<u8>) -> Result<usize, Unsupported> {
        let (rest, line) = (self.rest, self.line);
        self.block_of_lines(label, out, true).or_else(|_| {
            (self.rest, self.line) = (rest, line);
            self.block_of_lines(label, out, false)
        })
    }

    /// With `alike`, a line end is first looked for at the position it had in the block's first line. Should that have
    /// joined two lines, the line end between them is not base64, and the block must be read again without `alike`.
    fn block_of_lines(&mut self, label: Label, out: &mut Vec<u8>, alike: bool) -> Result<usize, Unsupported> {
        let (block, begin) = (self.rest, self.line);
        self.text.clear();
        // Enough for every line of a block of the usual form.
        self.text.try_reserve(block.len().min(USUAL_BLOCK)).map_err(|_| Unsupported::OutOfMemory)?;
        let mut stride = None;
        loop {
            let before = self.rest.len();
            let line = self.line_of(stride).or_else(|| self.next_line()).ok_or(self.fault(PemFault::Unterminated))?;
            if line == label.end() {
                break;
            }
            if line.is_empty() || line.len() > MAX_BASE64_LINE || line.first() == Some(&b'-') {
                return Err(self.fault(PemFault::NotBase64));
            }
            if self.text.len() > label.most() {
                return Err(self.fault(PemFault::LongBlock));
            }
            self.text.try_reserve(line.len()).map_err(|_| Unsupported::OutOfMemory)?;
            self.text.extend_from_slice(line);
            if alike && stride.is_none() {
                stride = (before - self.rest.len()).checked_sub(1);
            }
            if let Some(end) = stride {
                self.take_alike(end, label);
            }
        }
        if self.text.is_empty() {
            return Err(self.fault(PemFault::EmptyBlock));
        }
        let start = out.len();
        let most = self.text.len() / 4 * 3;
        out.try_reserve(most).map_err(|_| Unsupported::OutOfMemory)?;
        out.resize(start + most, 0);
        let target = out.get_mut(start..).unwrap_or(&mut []);
        let decoded =
            base64_simd::STANDARD.decode(&self.text, base64_simd::Out::from_slice(target)).map(|bytes| bytes.len());
        out.truncate(start + decoded.as_ref().copied().unwrap_or(0));
        decoded.map_err(|_| Unsupported::Pem { line: not_base64(block, begin, self.line), fault: PemFault::NotBase64 })
    }

    /// Takes the base64 of the following lines, as long as their end is at this position. Stops at anything unusual.
    fn take_alike(&mut self, end: usize, label: Label) {
        let mut lines = 0;
        for line in self.rest.chunks_exact(end + 1) {
            let [text @ .., b'\n'] = line else { break };
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let usual = (1..=MAX_BASE64_LINE).contains(&text.len()) && text.first() != Some(&b'-');
            if !usual || self.text.len() > label.most() || self.text.try_reserve(text.len()).is_err() {
                break;
            }
            self.text.extend_from_slice(text);
            lines += 1;
        }
        self.line += lines as u64;
        self.rest = self.rest.get(lines * (end + 1)..).unwrap_or(&[]);
    }

    /// The next line, if it ends at this position.
    fn line_of(&mut self, end: Option<usize>) -> Option<&'a [u8]> {
        let end = end?;
        (self.rest.get(end)? == &b'\n').then(|| self.take_line(end))
    }

    /// The next line without its LF or CRLF.
    fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        match memchr(b'\n', self.rest) {
            Some(end) => Some(self.take_line(end)),
            None => {
                self.line += 1;
                Some(std::mem::take(&mut self.rest))
            }
        }
    }

    /// The line whose LF is at this position.
    fn take_line(&mut self, end: usize) -> &'a [u8] {
        self.line += 1;
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or(&[]);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    fn fault(&self, fault: PemFault) -> Unsupported {
        Unsupported::Pem { line: self.line, fault }
    }
}

/// The first line between `begin` and `end` with a character that is not a base64 digit. Otherwise the last line: it is
/// too short or too long, or has wrong padding.
fn not_base64(block: &[u8], begin: u64, end: u64) -> u64 {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let last = end.saturating_sub(1);
    block
        .split(|byte| *byte == b'\n')
        .zip(begin + 1..last)
        .find(|(line, _)| !line.strip_suffix(b"\r").unwrap_or(line).iter().all(is_digit))
        .map_or(last, |(_, number)| number)
}
