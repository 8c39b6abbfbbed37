//! Mozilla's certdata.txt, from which NSS builds its list of roots (lib/ckfw/builtins; certdata.perl reads it there): objects of
//! `NAME TYPE value` lines, byte strings in octal.
//!
//! It takes trust away as well as giving it, so a line that is not understood makes the whole file unsupported.

use std::collections::HashMap;

use memchr::memmem;

use super::p11_kit::{extension, list};
use crate::error::Unsupported;
use crate::trust::{Description, DistrustAfter, Explicit, Parts, Purpose, Sayings, Stapled, Verdict};

/// 2.5.29.37
const EXT_KEY_USAGE: &[u8] = b"\x55\x1D\x25";

/// The purposes that certdata.txt knows.
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

/// One object: each name once, with the bytes of its value, or the word that it is.
type Object = HashMap<String, Value>;

enum Value {
    Bytes(Vec<u8>),
    Word(String),
}

/// Whether it looks like that file.
pub(crate) fn is_certdata(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"\nBEGINDATA").is_some() && memmem::find(bytes, b"\nCKA_CLASS CK_OBJECT_CLASS CKO_").is_some()
}

/// Adds all that the file says.
///
/// For those who do not read statements, the certificates are described to the same effect, as Fedora's ca-certificates
/// does for p11-kit: one that is trusted for anything is an anchor with the purposes stapled to its key; one that is
/// distrusted, and trusted for nothing, is distrusted, also if only its issuer and serial number are there.
pub(super) fn read(bytes: &[u8], all: &mut Sayings) -> Result<(), Unsupported> {
    for object in objects(bytes)? {
        match object.get("CLASS") {
            Some(Value::Word(class)) if class == "CKO_CERTIFICATE" => all.certificates.push(certificate(&object)?),
            Some(Value::Word(class)) if class == "CKO_NSS_TRUST" || class == "CKO_TRUST" => {
                all.explicit.push(statement(&object)?);
            }
            _ => {}
        }
    }
    describe(all);
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
        // Names of one thing in old, present and PKCS#11's spelling.
        let name = name.strip_prefix("NSS_").or_else(|| name.strip_prefix("PKCS_")).unwrap_or(name);
        all.last_mut().ok_or_else(fault)?.insert(name.to_owned(), value);
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

/// A string in quotes, with C's escapes as far as they occur: `\xC5`, `\"`, `\\`.
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

fn bytes<'o>(object: &'o Object, name: &str) -> Option<&'o [u8]> {
    match object.get(name)? {
        Value::Bytes(bytes) => Some(bytes),
        Value::Word(_) => None,
    }
}

fn word<'o>(object: &'o Object, name: &str) -> Option<&'o str> {
    match object.get(name)? {
        Value::Word(word) => Some(word),
        Value::Bytes(_) => None,
    }
}

fn label(object: &Object) -> Option<Box<str>> {
    std::str::from_utf8(bytes(object, "LABEL")?).ok().map(Box::from)
}

/// A day of distrust, or that there is none.
fn time(object: &Object, name: &str) -> Result<Option<DistrustAfter>, Unsupported> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::Word(word)) if word == "CK_FALSE" => Ok(Some(DistrustAfter::Never)),
        Some(Value::Bytes(text)) => DistrustAfter::from_text(text).map(Some).ok_or(Unsupported::Distrust),
        Some(Value::Word(_)) => Err(Unsupported::Distrust),
    }
}

fn certificate(object: &Object) -> Result<Description, Unsupported> {
    let der = bytes(object, "VALUE").filter(|der| Parts::read(der).is_ok()).ok_or(Unsupported::Distrust)?;
    Ok(Description {
        der: Some(der.into()),
        label: label(object),
        is_mozilla_policy: word(object, "MOZILLA_CA_POLICY").map(|word| word == "CK_TRUE"),
        server_distrust_after: time(object, "SERVER_DISTRUST_AFTER")?,
        email_distrust_after: time(object, "EMAIL_DISTRUST_AFTER")?,
        ..Description::default()
    })
}

fn statement(object: &Object) -> Result<Explicit, Unsupported> {
    let (Some(issuer), Some(serial)) = (bytes(object, "ISSUER"), bytes(object, "SERIAL_NUMBER")) else {
        return Err(Unsupported::Distrust);
    };
    let mut explicit =
        Explicit { issuer: issuer.into(), serial: serial.into(), label: label(object), ..Explicit::default() };
    let hash = bytes(object, "CERT_SHA1_HASH").or_else(|| bytes(object, "HASH_OF_CERTIFICATE"));
    explicit.sha1 = hash.and_then(|hash| hash.try_into().ok());
    explicit.md5 = bytes(object, "CERT_MD5_HASH").and_then(|hash| hash.try_into().ok());
    explicit.server_distrust_after = time(object, "SERVER_DISTRUST_AFTER")?;
    explicit.email_distrust_after = time(object, "EMAIL_DISTRUST_AFTER")?;
    explicit.step_up_approved = word(object, "TRUST_STEP_UP_APPROVED") == Some("CK_TRUE");
    for (name, purpose) in PURPOSES {
        if let Some(constant) = word(object, &format!("TRUST_{name}")) {
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

/// Describes the certificates as their statements have it.
fn describe(all: &mut Sayings) {
    let key = |explicit: &Explicit| (explicit.issuer.clone(), explicit.serial.clone());
    let mut stated: HashMap<_, Vec<usize>> = HashMap::new();
    for (number, explicit) in all.explicit.iter().enumerate() {
        stated.entry(key(explicit)).or_default().push(number);
    }
    let mut unused: Vec<bool> = vec![true; all.explicit.len()];
    for certificate in &mut all.certificates {
        let Some(der) = certificate.der.as_deref() else { continue };
        let Ok(parts) = Parts::read(der) else { continue };
        let sha1 = <[u8; 20]>::from(<sha1::Sha1 as sha1::Digest>::digest(der));
        let candidates = stated.get(&(parts.issuer.into(), parts.serial.into()));
        for &number in candidates.into_iter().flatten() {
            let Some(explicit) = all.explicit.get(number).filter(|said| said.sha1.is_none_or(|said| said == sha1))
            else {
                continue;
            };
            if let Some(unused) = unused.get_mut(number) {
                *unused = false;
            }
            let trusted: Vec<[u8; 8]> = trusted_for(explicit).map(Purpose::oid).collect();
            certificate.trusted = !trusted.is_empty();
            certificate.distrusted = is_distrust(explicit);
            let earlier = |own: &mut Option<DistrustAfter>, said: &Option<DistrustAfter>| {
                *own = DistrustAfter::earlier(own.take(), said.clone());
            };
            earlier(&mut certificate.server_distrust_after, &explicit.server_distrust_after);
            earlier(&mut certificate.email_distrust_after, &explicit.email_distrust_after);
            if certificate.trusted {
                let value = list(&trusted.iter().map(<[u8; 8]>::as_slice).collect::<Vec<_>>());
                all.extensions.push(Stapled {
                    spki: parts.spki.into(),
                    oid: EXT_KEY_USAGE.into(),
                    der: extension(EXT_KEY_USAGE, true, &value).into(),
                    label: certificate.label.clone(),
                    id: None,
                });
            }
        }
    }
    for (explicit, unused) in all.explicit.iter().zip(unused) {
        if unused && is_distrust(explicit) {
            all.certificates.push(Description {
                label: explicit.label.clone(),
                issuer: Some(explicit.issuer.clone()),
                serial: Some(explicit.serial.clone()),
                distrusted: true,
                ..Description::default()
            });
        }
    }
}

fn trusted_for(explicit: &Explicit) -> impl Iterator<Item = Purpose> {
    let verdicts = Purpose::ALL.into_iter().zip(explicit.purposes);
    verdicts
        .filter(|(_, verdict)| matches!(verdict, Some(Verdict::Anchor | Verdict::Trusted)))
        .map(|(purpose, _)| purpose)
}

fn is_distrust(explicit: &Explicit) -> bool {
    trusted_for(explicit).next().is_none() && explicit.purposes.contains(&Some(Verdict::Distrusted))
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
        assert!(read(good.as_bytes(), &mut Sayings::default()).is_ok());
        let trust = "CKA_CLASS CK_OBJECT_CLASS CKO_NSS_TRUST\nCKA_ISSUER MULTILINE_OCTAL\n\\060\\000\nEND\n\
            CKA_SERIAL_NUMBER MULTILINE_OCTAL\n\\002\\001\\007\nEND\nCKA_TRUST_SERVER_AUTH CK_TRUST CKT_NSS_NOT_TRUSTED\n";
        let mut all = Sayings::default();
        read(format!("{good}{trust}").as_bytes(), &mut all).unwrap();
        assert_eq!((all.explicit.len(), all.certificates.len()), (1, 1));
        assert!(all.certificates[0].distrusted && all.certificates[0].der.is_none());
        for (from, to) in [
            ("NOT_TRUSTED", "WHATEVER"),
            ("\\002\\001\\007", "\\002\\001\\00"),
            ("\nEND\n", "\n"),
            ("CKA_ISSUER", "ISSUER"),
            ("CK_TRUST CKT_NSS_NOT_TRUSTED", ""),
        ] {
            let bad = format!("{good}{}", trust.replacen(from, to, 1));
            assert!(read(bad.as_bytes(), &mut Sayings::default()).is_err(), "{from}");
        }
    }
}
