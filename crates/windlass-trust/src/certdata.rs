//! Mozilla's certdata.txt, from which NSS builds its list of roots (lib/ckfw/builtins; certdata.perl reads it there):
//! objects of `NAME TYPE value` lines, byte strings in octal.
//!
//! It removes trust as well as giving it, and therefore a line that is not understood makes the whole file unsupported.

mod describe;

use std::collections::HashMap;

use memchr::memmem;
use windlass::Unsupported;

use crate::{Description, DistrustAfter, Explicit, Purpose, Sayings, Verdict, is_certificate};

/// The purposes that certdata.txt has attributes for.
const PURPOSES: [(&str, Purpose); 8] = [
    ("SERVER_AUTH", Purpose::ServerAuth),
    ("CLIENT_AUTH", Purpose::ClientAuth),
    ("CODE_SIGNING", Purpose::CodeSigning),
    ("EMAIL_PROTECTION", Purpose::EmailProtection),
    ("IPSEC_END_SYSTEM", Purpose::IpsecEndSystem),
    ("IPSEC_TUNNEL", Purpose::IpsecTunnel),
    ("IPSEC_USER", Purpose::IpsecUser),
    ("TIME_STAMPING", Purpose::TimeStamping),
];

/// One object: each name once, with the bytes of its value, or the word in its place.
type Object = HashMap<String, Value>;

enum Value {
    Bytes(Vec<u8>),
    Word(String),
}

/// Whether it looks like certdata.txt.
pub(crate) fn is_certdata(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"\nBEGINDATA").is_some() && memmem::find(bytes, b"\nCKA_CLASS CK_OBJECT_CLASS CKO_").is_some()
}

/// Adds all statements of the file.
///
/// For callers that do not read statements, the certificates get descriptions with the same effect, as Fedora's
/// ca-certificates makes them for p11-kit: a certificate that is trusted for any purpose is an anchor with the purposes
/// stapled to its key; one that is distrusted, and trusted for no purpose, is distrusted, even if only its issuer and
/// serial number are known.
///
/// Unreadable parts are marked ([`Sayings::refuse`]), and the rest is added nevertheless: some of it may be distrust.
pub(super) fn read(bytes: &[u8], all: &mut Sayings) {
    match objects(bytes) {
        Ok(objects) => objects.iter().for_each(|object| add(object, all).unwrap_or_else(|what| all.refuse(what))),
        Err(what) => all.refuse(what),
    }
    describe::describe(all).unwrap_or_else(|what| all.refuse(what));
}

fn add(object: &Object, all: &mut Sayings) -> Result<(), Unsupported> {
    match word(object, "CLASS")? {
        Some("CKO_CERTIFICATE") => all.certificates.push(certificate(object)?),
        Some("CKO_NSS_TRUST" | "CKO_TRUST") => all.explicit.push(statement(object)?),
        Some("CKO_NSS_BUILTIN_ROOT_LIST" | "CKO_DATA") => {}
        _ => return Err(Unsupported::Distrust),
    }
    Ok(())
}

fn objects(bytes: &[u8]) -> Result<Vec<Object>, Unsupported> {
    let mut all: Vec<Object> = Vec::new();
    let mut lines =
        bytes.split(|byte| *byte == b'\n').zip(1u64..).skip_while(|(line, _)| !line.starts_with(b"BEGINDATA"));
    lines.next();
    while let Some((line, number)) = lines.next() {
        let fault = || Unsupported::Certdata { line: number };
        let line = std::str::from_utf8(line).map_err(|_| fault())?.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (kind, word) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        let name = name.strip_prefix("CKA_").ok_or_else(fault)?;
        let value = match kind {
            "MULTILINE_OCTAL" => {
                let mut value = Vec::new();
                loop {
                    let (line, number) = lines.next().ok_or_else(fault)?;
                    match line.trim_ascii() {
                        b"END" => break,
                        digits => octal(digits, &mut value).ok_or(Unsupported::Certdata { line: number })?,
                    }
                }
                Value::Bytes(value)
            }
            "UTF8" => Value::Bytes(text(word.trim()).ok_or_else(fault)?),
            "" => return Err(fault()),
            _ => Value::Word(word.trim().to_owned()),
        };
        if name == "CLASS" {
            all.push(Object::new());
        }
        // The same name in the old spelling, the present one and the PKCS#11 one.
        let name = name.strip_prefix("NSS_").or_else(|| name.strip_prefix("PKCS_")).unwrap_or(name);
        // NSS would keep both, and find one of them.
        if all.last_mut().ok_or_else(fault)?.insert(name.to_owned(), value).is_some() {
            return Err(fault());
        }
    }
    Ok(all)
}

/// `\060\202…`
fn octal(digits: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (groups, rest) = digits.as_chunks::<4>();
    for group in groups {
        let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] = group else { return None };
        out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
    }
    rest.is_empty().then_some(())
}

/// A string in quotes, with those of C's escapes that occur: `\xC5`, `\"`, `\\`.
fn text(quoted: &str) -> Option<Vec<u8>> {
    let mut rest = quoted.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut out = Vec::new();
    loop {
        rest = match *rest {
            [] => return Some(out),
            [b'\\', b'x', high, low, ref rest @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                out.push((digit(high)? << 4 | digit(low)?) as u8);
                rest
            }
            [b'\\', escaped @ (b'"' | b'\\'), ref rest @ ..] => {
                out.push(escaped);
                rest
            }
            [b'\\', ..] => return None,
            [byte, ref rest @ ..] => {
                out.push(byte);
                rest
            }
        };
    }
}

fn bytes<'o>(object: &'o Object, name: &str) -> Result<Option<&'o [u8]>, Unsupported> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Value::Word(_)) => Err(Unsupported::Distrust),
    }
}

fn word<'o>(object: &'o Object, name: &str) -> Result<Option<&'o str>, Unsupported> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::Word(word)) => Ok(Some(word)),
        Some(Value::Bytes(_)) => Err(Unsupported::Distrust),
    }
}

/// Bytes of a known length.
fn array<const N: usize>(object: &Object, name: &str) -> Result<Option<[u8; N]>, Unsupported> {
    let Some(bytes) = bytes(object, name)? else { return Ok(None) };
    bytes.try_into().map(Some).map_err(|_| Unsupported::Distrust)
}

fn label(object: &Object) -> Option<Box<str>> {
    std::str::from_utf8(bytes(object, "LABEL").ok()??).ok().map(Box::from)
}

/// A day of distrust, or the statement that there is none.
fn time(object: &Object, name: &str) -> Result<Option<DistrustAfter>, Unsupported> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::Word(word)) if word == "CK_FALSE" => Ok(Some(DistrustAfter::Never)),
        Some(Value::Bytes(text)) => DistrustAfter::from_text(text).map(Some).ok_or(Unsupported::Distrust),
        Some(Value::Word(_)) => Err(Unsupported::Distrust),
    }
}

fn certificate(object: &Object) -> Result<Description, Unsupported> {
    let der = bytes(object, "VALUE")?.filter(|der| is_certificate(der)).ok_or(Unsupported::Distrust)?;
    Ok(Description {
        der: Some(der.into()),
        label: label(object),
        is_mozilla_policy: word(object, "MOZILLA_CA_POLICY")?.map(|word| word == "CK_TRUE"),
        server_distrust_after: time(object, "SERVER_DISTRUST_AFTER")?,
        email_distrust_after: time(object, "EMAIL_DISTRUST_AFTER")?,
        ..Description::default()
    })
}

fn statement(object: &Object) -> Result<Explicit, Unsupported> {
    let (Some(issuer), Some(serial)) = (bytes(object, "ISSUER")?, bytes(object, "SERIAL_NUMBER")?) else {
        return Err(Unsupported::Distrust);
    };
    let mut explicit = Explicit {
        authoritative: true,
        issuer: issuer.into(),
        serial: serial.into(),
        label: label(object),
        ..Explicit::default()
    };
    explicit.sha1 = match array(object, "CERT_SHA1_HASH")? {
        None => array(object, "HASH_OF_CERTIFICATE")?,
        hash => hash,
    };
    explicit.md5 = array(object, "CERT_MD5_HASH")?;
    explicit.server_distrust_after = time(object, "SERVER_DISTRUST_AFTER")?;
    explicit.email_distrust_after = time(object, "EMAIL_DISTRUST_AFTER")?;
    explicit.step_up_approved = word(object, "TRUST_STEP_UP_APPROVED")? == Some("CK_TRUE");
    for (name, purpose) in PURPOSES {
        if let Some(constant) = word(object, &format!("TRUST_{name}"))? {
            let said = explicit.purposes.get_mut(purpose as usize).ok_or(Unsupported::Distrust)?;
            *said = Some(verdict(constant).ok_or(Unsupported::Distrust)?);
        }
    }
    Ok(explicit)
}

fn verdict(constant: &str) -> Option<Verdict> {
    match constant {
        "CKT_NSS_TRUSTED" | "CKT_TRUSTED" => Some(Verdict::Trusted),
        "CKT_NSS_TRUSTED_DELEGATOR" | "CKT_TRUST_ANCHOR" => Some(Verdict::Anchor),
        "CKT_NSS_MUST_VERIFY_TRUST" | "CKT_NSS_VALID_DELEGATOR" | "CKT_TRUST_MUST_VERIFY_TRUST" => {
            Some(Verdict::MustVerify)
        }
        "CKT_NSS_TRUST_UNKNOWN" | "CKT_TRUST_UNKNOWN" => Some(Verdict::Unknown),
        "CKT_NSS_NOT_TRUSTED" | "CKT_NOT_TRUSTED" => Some(Verdict::Distrusted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_and_text() {
        let mut out = Vec::new();
        assert_eq!(octal(b"\\060\\377\\000", &mut out), Some(()));
        assert_eq!(out, [0x30, 0xFF, 0x00]);
        for bad in [&b"\\06"[..], b"060\\", b"\\400", b"\\08\\0", b"\\0600"] {
            assert_eq!(octal(bad, &mut Vec::new()), None, "{bad:?}");
        }
        assert_eq!(text(r#""N\xc5\x91tan\"\\""#), Some("Nőtan\"\\".as_bytes().to_vec()));
        for bad in ["", "\"", "x", r#""\n""#, r#""\xg0""#] {
            assert_eq!(text(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_understood_spoils_the_file() {
        let good = "# x\nBEGINDATA\nCKA_CLASS CK_OBJECT_CLASS CKO_NSS_BUILTIN_ROOT_LIST\nCKA_LABEL UTF8 \"Roots\"\n";
        assert!(is_certdata(good.as_bytes()));
        let is_whole = |text: &str| {
            let mut all = Sayings::default();
            read(text.as_bytes(), &mut all);
            all.end_file().is_none()
        };
        assert!(is_whole(good));
        let trust = "CKA_CLASS CK_OBJECT_CLASS CKO_NSS_TRUST\nCKA_ISSUER MULTILINE_OCTAL\n\\060\\000\nEND\n\
            CKA_SERIAL_NUMBER MULTILINE_OCTAL\n\\002\\001\\007\nEND\n\
            CKA_TRUST_SERVER_AUTH CK_TRUST CKT_NSS_NOT_TRUSTED\n";
        let mut all = Sayings::default();
        read(format!("{good}{trust}").as_bytes(), &mut all);
        assert!(is_whole(&format!("{good}{trust}")));
        assert_eq!((all.explicit.len(), all.certificates.len()), (1, 1));
        assert!(all.certificates[0].distrusted && all.certificates[0].der.is_none());
        for (from, to) in [
            ("NOT_TRUSTED", "WHATEVER"),
            ("\\002\\001\\007", "\\002\\001\\00"),
            ("\nEND\n", "\n"),
            ("CKA_ISSUER", "ISSUER"),
            ("CK_TRUST CKT_NSS_NOT_TRUSTED", ""),
            ("CK_TRUST CKT_NSS_NOT_TRUSTED", "UTF8 \"CKT_NSS_NOT_TRUSTED\""),
            ("CKA_ISSUER", "CKA_TRUST_SERVER_AUTH CK_TRUST CKT_NSS_TRUSTED_DELEGATOR\nCKA_ISSUER"),
            ("CKO_NSS_TRUST", "CKO_NEW_TRUST"),
            ("CKA_ISSUER", "CKA_CERT_SHA1_HASH MULTILINE_OCTAL\n\\001\nEND\nCKA_ISSUER"),
        ] {
            let bad = format!("{good}{}", trust.replacen(from, to, 1));
            assert!(!is_whole(&bad), "{from}");
        }
    }
}
