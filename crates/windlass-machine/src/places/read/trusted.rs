//! OpenSSL's `TRUSTED CERTIFICATE`: a certificate followed by its owner's trust settings (`X509_CERT_AUX`,
//! crypto/x509/x_x509a.c).

use der::asn1::{AnyRef, ContextSpecific, ObjectIdentifier, OctetStringRef, Utf8StringRef};
use der::{Reader, SliceReader, TagNumber};

use super::Trust;

const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// The trusted and the rejected purposes.
#[derive(Default)]
struct Settings {
    trusted: Option<Vec<ObjectIdentifier>>,
    rejected: Option<Vec<ObjectIdentifier>>,
}

/// The certificate alone, and its trust for servers. None: the settings can't be read, and their meaning is unknown.
pub fn split(block: &[u8]) -> Option<(&[u8], Trust)> {
    let mut reader = SliceReader::new(block).ok()?;
    let certificate = reader.tlv_bytes().ok()?;
    let settings = if reader.is_finished() { Settings::default() } else { settings(&mut reader).ok()? };
    reader.finish((certificate, settings.trust())).ok()
}

fn settings(reader: &mut SliceReader<'_>) -> der::Result<Settings> {
    reader.sequence(|fields| {
        let trusted = fields.decode()?;
        let rejected = ContextSpecific::decode_implicit(fields, TagNumber::N0)?.map(|field| field.value);
        // A name, a key identifier and algorithms have no effect on trust.
        fields.decode::<Option<Utf8StringRef<'_>>>()?;
        fields.decode::<Option<OctetStringRef<'_>>>()?;
        ContextSpecific::<Vec<AnyRef<'_>>>::decode_implicit(fields, TagNumber::N1)?;
        Ok(Settings { trusted, rejected })
    })
}

impl Settings {
    /// Follows `obj_trust` (crypto/x509/x509_trs.c, 3.0) for servers: rejected purposes are rejected, and so is any
    /// purpose that is missing from a list of trusted ones.
    fn trust(&self) -> Trust {
        let has = |list: &[ObjectIdentifier]| list.iter().any(|purpose| [SERVER_AUTH, ANY_PURPOSE].contains(purpose));
        let is_refused =
            self.rejected.as_deref().is_some_and(has) || self.trusted.as_deref().is_some_and(|list| !has(list));
        if is_refused { Trust::Distrusted } else { Trust::Anchor }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use crate::places::PlaceKind;
    use crate::places::read::{Entry, Work, read};

    use super::*;

    /// A bundle with trust settings that OpenSSL has written.
    fn entry(options: &[&str]) -> (Entry, Vec<u8>) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/rsa.pem");
        let output =
            Command::new("openssl").args(["x509", "-trustout", "-in"]).arg(&file).args(options).output().unwrap();
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.starts_with(b"-----BEGIN TRUSTED CERTIFICATE-----"), "{options:?}");
        let one = |pem: &[u8]| read(PlaceKind::PrivateBundle, pem, &Work::default()).unwrap().remove(0);
        (one(&output.stdout), one(&std::fs::read(file).unwrap()).der)
    }

    #[test]
    fn what_openssl_says_about_a_certificate() {
        let many =
            ["-setalias", "x", "-addtrust", "emailProtection", "-addtrust", "serverAuth", "-addreject", "codeSigning"];
        for (options, trust) in [
            (&[][..], Trust::Anchor),
            (&["-setalias", "name"], Trust::Anchor),
            (&["-addtrust", "serverAuth"], Trust::Anchor),
            (&["-addtrust", "anyExtendedKeyUsage"], Trust::Anchor),
            (&["-addreject", "emailProtection"], Trust::Anchor),
            (&many, Trust::Anchor),
            (&["-addtrust", "emailProtection"], Trust::Distrusted),
            (&["-addreject", "serverAuth"], Trust::Distrusted),
            (&["-addreject", "anyExtendedKeyUsage", "-addtrust", "serverAuth"], Trust::Distrusted),
        ] {
            let (entry, der) = entry(options);
            assert!(entry.der == der && entry.trust == trust, "{options:?}: {:?}", entry.trust);
            assert_eq!(entry.certificate().unwrap().name, "Rsa Root");
        }
    }

    #[test]
    fn settings_that_nobody_understands_are_not_passed_over() {
        let (_, der) = entry(&[]);
        for behind in [&b"\x30\x02\x02\x00"[..], b"\x30\x05", b"\x04\x00", b"\x30\x00\x30\x00"] {
            assert!(split(&[&der, behind].concat()).is_none(), "{behind:x?}");
        }
        assert!(split(&[&der, &b"\x30\x00"[..]].concat()).is_some() && split(b"").is_none());
        // An unreadable block still gives an entry, which shows that it was not understood.
        let block = pem(&[&der, &b"\x04\x00"[..]].concat());
        let all = read(PlaceKind::PrivateBundle, block.as_bytes(), &Work::default()).unwrap();
        assert!(all.len() == 1 && all[0].certificate().is_none());
    }

    fn pem(der: &[u8]) -> String {
        let text = base64_simd::STANDARD.encode_to_string(der);
        let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN TRUSTED CERTIFICATE-----\n{}\n-----END TRUSTED CERTIFICATE-----\n", lines.join("\n"))
    }
}
