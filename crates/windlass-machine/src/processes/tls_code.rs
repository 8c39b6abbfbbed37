//! The TLS code in the bytes of an executable or a library.
//!
//! Symbols are no help: most statically linked programs are stripped. The texts that the code itself needs remain.
//! Anybody can put such a text into a program without the library; the result is then wrong, and nothing worse happens.

use std::io::Read;

use memchr::memmem::Finder;

use super::budget::Budget;
use super::libraries::TlsKind;

/// Size of one read in bytes.
const CHUNK: usize = 1 << 20;
/// The longest text in bytes, from its start to the end of the version after it.
const REACH: usize = 128;

/// The texts found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsCode {
    /// Version of OpenSSL's libcrypto.
    pub openssl: Option<String>,
    /// Version of LibreSSL.
    pub libressl: Option<String>,
    /// Version of GnuTLS.
    pub gnutls: Option<String>,
    /// Version of NSS.
    pub nss: Option<String>,
    /// Version of Mbed TLS.
    pub mbedtls: Option<String>,
    /// Version of rustls, from the source paths in its panics.
    rustls: Option<String>,
    /// Version of the Go that built it.
    go: Option<String>,
    /// Whether it has Go's crypto/tls.
    go_tls: bool,
    /// Whether it has the code of libcrypto that loads CA files.
    by_file: bool,
    /// Whether it has AWS-LC's names.
    aws_lc: bool,
}

impl TlsCode {
    /// Reads a file from its start, while the budget lasts. `None`: it ran out.
    pub fn read(mut file: impl Read, budget: &mut Budget) -> std::io::Result<Option<TlsCode>> {
        let texts: Vec<Vec<u8>> = TEXTS.iter().map(|(text, _)| shown(text)).collect();
        let texts: Vec<_> = texts.iter().zip(TEXTS).map(|(text, (_, note))| (Finder::new(text), *note)).collect();
        let mut code = TlsCode::default();
        let mut buffer = Vec::with_capacity(CHUNK + REACH);
        loop {
            if budget.is_spent() {
                return Ok(None);
            }
            let read = (&mut file).take(CHUNK as u64).read_to_end(&mut buffer)?;
            budget.take(read);
            let is_end = read == 0;
            // A text that begins near the end is searched again together with the next chunk.
            let decided = if is_end { buffer.len() } else { buffer.len().saturating_sub(REACH) };
            for (finder, note) in &texts {
                for start in finder.find_iter(&buffer).take_while(|start| *start < decided) {
                    let before = start.checked_sub(1).map(|before| buffer[before]);
                    note(&mut code, before, &buffer[start + finder.needle().len()..]);
                }
            }
            if is_end {
                return Ok(Some(code));
            }
            // Keeps one more byte, the one before a text.
            buffer.drain(..decided.saturating_sub(1));
        }
    }

    /// The TLS libraries that are linked into the file.
    pub fn linked_in(&self) -> Vec<(TlsKind, Option<String>)> {
        let mut found = Vec::new();
        if self.by_file {
            found.push(match (&self.openssl, &self.libressl, self.aws_lc) {
                (_, Some(version), _) => (TlsKind::Libressl, Some(version.clone())),
                (Some(version), None, _) => (TlsKind::Openssl, Some(version.clone())),
                (None, None, true) => (TlsKind::AwsLc, None),
                (None, None, false) => (TlsKind::Boringssl, None),
            });
        }
        if self.go_tls {
            found.push((TlsKind::Go, self.go.clone()));
        }
        if let Some(version) = &self.rustls {
            found.push((TlsKind::Rustls, Some(version.clone())));
        }
        found
    }
}

/// Records a text, given the byte before it and the bytes after it.
type Note = fn(&mut TlsCode, Option<u8>, &[u8]);

/// Hides a text in this program's own binary, in which the search would otherwise find it.
const fn hide<const N: usize>(text: &[u8; N]) -> [u8; N] {
    let mut hidden = [0; N];
    let mut place = 0;
    while place < N {
        hidden[place] = !text[place];
        place += 1;
    }
    hidden
}

/// Restores the text at run time, and keeps the compiler from doing it beforehand.
fn shown(hidden: &[u8]) -> Vec<u8> {
    std::hint::black_box(hidden).iter().map(|byte| !byte).collect()
}

const TEXTS: &[(&[u8], Note)] = &[
    // OPENSSL_VERSION_TEXT is `OpenSSL 3.0.17 1 Jul 2025`; without a date it only mentions a version, as messages do.
    (&hide(b"OpenSSL "), |code, _, behind| first(&mut code.openssl, version(behind).filter(|_| has_date(behind)))),
    (&hide(b"LibreSSL "), |code, _, behind| first(&mut code.libressl, version(behind))),
    // `GnuTLS 3.7.9 logging...` (lib/global.c)
    (&hide(b"GnuTLS "), |code, _, behind| first(&mut code.gnutls, version(behind))),
    // `Version: NSS 3.87.1` (lib/nss/nssver.c)
    (&hide(b"NSS "), |code, _, behind| first(&mut code.nss, version(behind))),
    (&hide(b"bed TLS "), |code, _, behind| first(&mut code.mbedtls, version(behind))),
    // OPENSSL_FILE of errors raised in crypto/x509/by_file.c; BoringSSL's is .cc
    (&hide(b"x509/by_file.c"), |code, _, _| code.by_file = true),
    (&hide(b"aws_lc_"), |code, _, _| code.aws_lc = true),
    // The table of functions for Go's tracebacks, which stripped programs have too
    (&hide(b"crypto/tls.(*Conn)."), |code, _, _| code.go_tls = true),
    (&hide(b"\xff Go buildinf:"), |code, _, behind| first(&mut code.go, go_version(behind))),
    // A crate's directory; the names of other crates end in the same text, such as tokio-rustls
    (&hide(b"rustls-"), |code, before, behind| {
        first(
            &mut code.rustls,
            version(behind).filter(|_| before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'-')),
        );
    }),
];

fn first(place: &mut Option<String>, found: Option<String>) {
    if place.is_none() {
        *place = found;
    }
}

/// `3.0.17`, `1.1.1w` or `3.0.13+quic` at the start of a text.
fn version(text: &[u8]) -> Option<String> {
    let end = text.iter().take(32).position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'+'))?;
    let version = std::str::from_utf8(&text[..end]).ok()?;
    let mut numbers = version.split('.');
    let is_number =
        |part: Option<&str>| part.is_some_and(|part| part.starts_with(|first: char| first.is_ascii_digit()));
    (is_number(numbers.next()) && is_number(numbers.next())).then(|| version.to_owned())
}

/// Whether a date as `1 Jul 2025` follows the version.
fn has_date(text: &[u8]) -> bool {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text[..text.len().min(64)].split(|byte| *byte == b' ').skip(1);
    let (Some(day), Some(month), Some(year)) = (words.next(), words.next(), words.next()) else { return false };
    let is_month = month.len() == 3 && MONTHS.chunks(3).any(|known| known == month);
    !day.is_empty()
        && day.iter().all(u8::is_ascii_digit)
        && is_month
        && year.iter().take(4).filter(|byte| byte.is_ascii_digit()).count() == 4
}

/// Go's build information (debug/buildinfo, Go 1.18 and later): the magic, a byte for the size of a pointer, flags,
/// padding up to 32 bytes, and, if flag 2 is set, the version preceded by its length.
fn go_version(behind: &[u8]) -> Option<String> {
    const MAGIC: usize = 14;
    const INLINE: u8 = 2;
    if behind.get(1)? & INLINE == 0 {
        return None;
    }
    let length = *behind.get(32 - MAGIC)?;
    // A length of one byte: versions are shorter than 128.
    let text = behind.get(33 - MAGIC..33 - MAGIC + usize::from(length)).filter(|_| length < 0x80)?;
    let text = std::str::from_utf8(text).ok()?;
    Some(text.strip_prefix("go").unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked_in(bytes: &[u8]) -> Vec<(TlsKind, Option<String>)> {
        TlsCode::read(bytes, &mut Budget::default()).unwrap().unwrap().linked_in()
    }

    #[test]
    fn a_static_openssl_has_its_code_and_its_version() {
        let both = b"\0OpenSSL 3.0.13+quic 30 Jan 2024\0../crypto/x509/by_file.c\0";
        assert_eq!(linked_in(both), [(TlsKind::Openssl, Some("3.0.13+quic".into()))]);
        // nginx and Python contain the version text of the headers they were built with, and no OpenSSL code.
        assert_eq!(linked_in(b"\0OpenSSL 3.0.17 1 Jul 2025\0"), []);
        assert_eq!(linked_in(b"\0OpenSSL 3.0 legacy provider\0x509/by_file.cc\0"), [(TlsKind::Boringssl, None)]);
        assert_eq!(linked_in(b"\0aws_lc_0_38_0_X\0x509/by_file.c\0"), [(TlsKind::AwsLc, None)]);
    }

    #[test]
    fn go_is_known_by_its_functions_and_its_build_information() {
        let mut program = b"\0crypto/tls.(*Conn).Handshake\0\xff Go buildinf:\x08\x02".to_vec();
        program.extend([0; 16]);
        program.extend(b"\x08go1.22.5\0");
        assert_eq!(linked_in(&program), [(TlsKind::Go, Some("1.22.5".into()))]);
        // A Go program without TLS.
        assert_eq!(linked_in(&program[20..]), []);
    }

    #[test]
    fn rustls_is_not_the_crates_around_it() {
        assert_eq!(linked_in(b"/x/rustls-0.23.31/src/client.rs"), [(TlsKind::Rustls, Some("0.23.31".into()))]);
        assert_eq!(linked_in(b"/x/tokio-rustls-0.26.4/src/"), []);
    }

    #[test]
    fn a_text_across_two_chunks_is_found_wherever_it_lies() {
        let text = b"x509/by_file.c\0OpenSSL 1.1.1w  11 Sep 2023\0OpenSSL 1.1.1w 11 Sep 2023\0";
        for shift in (0..=100).step_by(5).chain([99, 101, 200, CHUNK]) {
            let mut file = vec![0; CHUNK - 100 + shift];
            file.extend(text);
            assert_eq!(linked_in(&file), [(TlsKind::Openssl, Some("1.1.1w".into()))], "{shift}");
        }
    }

    #[test]
    fn a_file_without_end_is_left() {
        assert_eq!(TlsCode::read(std::io::repeat(b'x'), &mut Budget::of_bytes(3 << 20)).unwrap(), None);
    }

    /// The command contains all of this code, and no TLS. Test programs contain the texts, and therefore tests/trace.rs
    /// checks the command itself.
    #[test]
    fn hidden_texts_are_shown_again() {
        assert_eq!(shown(&hide(b"\xff Go \0")), b"\xff Go \0");
        assert!(TEXTS.iter().all(|(text, _)| text.iter().any(|byte| !byte.is_ascii())));
    }

    #[test]
    fn damage_is_nothing() {
        for bytes in [
            &b""[..],
            b"OpenSSL ",
            b"OpenSSL 3.",
            b"\xff Go buildinf:",
            b"\xff Go buildinf:\x08\x02\0",
            b"rustls-",
            b"OpenSSL 3.0.1 x y z",
        ] {
            assert_eq!(linked_in(bytes), []);
        }
    }
}
