//! PKCS#12 files: .NET's, and malicious ones.

use super::*;

/// A file like .NET's, except that its password is empty, while .NET uses none: see the next test.
pub fn pfx(directory: &Path, options: &[&str]) -> Vec<u8> {
    let file = directory.join("x.pfx");
    let certificate = fixture("rsa.pem");
    let arguments = ["pkcs12", "-export", "-nokeys", "-passout", "pass:", "-in", certificate.to_str().unwrap()];
    run("openssl", &[&arguments[..], &["-out", file.to_str().unwrap()], options].concat());
    std::fs::read(file).unwrap()
}

#[test]
fn files_of_dotnet() {
    let directory = tempfile::tempdir().unwrap();
    let old = ["-legacy", "-certpbe", "PBE-SHA1-RC2-40"];
    for options in [&["-certpbe", "PBE-SHA1-3DES"][..], &old, &["-certpbe", "AES-256-CBC"], &["-certpbe", "NONE"]] {
        let bytes = pfx(directory.path(), options);
        let all = read(PlaceKind::DotnetStore, &bytes, &Work::default()).unwrap();
        assert_eq!((all.len(), &all[0].der, all[0].trust), (1, &der("rsa.pem"), Trust::Anchor), "{options:?}");
    }
}

/// The fixture was written by .NET Core 3.1.23 with OpenSSL 1.1.1w (`X509Store.Add`).
#[test]
fn a_file_that_dotnet_itself_has_written() {
    let bytes = std::fs::read(fixture("dotnet-core-3.1.pfx")).unwrap();
    let all = read(PlaceKind::DotnetStore, &bytes, &Work::default()).unwrap();
    assert_eq!((all.len(), &all[0].der, all[0].trust), (1, &der("rsa.pem"), Trust::Anchor));
}

/// The same with no password at all, which only .NET writes: an empty input of the key derivation.
#[test]
fn no_password_is_not_an_empty_one() {
    use ::pkcs12::kdf::{Pkcs12KeyType, derive_key};
    use cbc::cipher::{BlockEncryptMut, KeyIvInit, block_padding::Pkcs7};

    let directory = tempfile::tempdir().unwrap();
    let bytes = pfx(directory.path(), &["-certpbe", "NONE", "-nomac"]);
    // The one safe of that file: its bags are the OCTET STRING that holds the certificate.
    let certificate = der("rsa.pem");
    let plain = safe_around(&bytes, &certificate);
    let (salt, rounds) = ([7; 8], 2000);
    let derive = |password: &[u8], kind, length| derive_key::<sha1_010::Sha1>(password, &salt, kind, rounds, length);
    for (password, readable) in [(&b""[..], true), (b"\0\0", true), (b"\0x\0\0", false)] {
        let key = derive(password, Pkcs12KeyType::EncryptionKey, 24);
        let vector = derive(password, Pkcs12KeyType::Iv, 8);
        let cipher = cbc::Encryptor::<des::TdesEde3>::new_from_slices(&key, &vector).unwrap();
        let text = cipher.encrypt_padded_vec_mut::<Pkcs7>(&plain);
        let file = encrypted_file(&salt, rounds, &text);
        let all = read(PlaceKind::DotnetStore, &file, &Work::default());
        match readable {
            true => assert_eq!(all.unwrap()[0].der, certificate),
            false => assert_eq!(all, Err(Unreadable::Encrypted)),
        }
    }
}

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = match content.len() {
        short @ ..0x80 => vec![short as u8],
        middle @ ..0x100 => vec![0x81, middle as u8],
        long => [&[0x82][..], &(long as u16).to_be_bytes()].concat(),
    };
    [&[tag][..], &length, content].concat()
}

const CERTIFICATE_BAG: &[u8] = b"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03";
const X509: &[u8] = b"\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01";
const DATA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
const ENCRYPTED_DATA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x06";
const LOCAL_KEY_ID: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x15";
const PBE: &[u8] = b"\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x03";

/// SafeContents with this certificate, as they stand in the file of OpenSSL.
fn safe_around(file: &[u8], certificate: &[u8]) -> Vec<u8> {
    let value = tlv(0xa0, &tlv(4, certificate));
    let bag = [CERTIFICATE_BAG, &tlv(0xa0, &tlv(0x30, &[X509, &value].concat()))].concat();
    assert!(file.windows(bag.len() - 40).any(|window| window == &bag[..bag.len() - 40]), "OpenSSL makes it so too");
    tlv(0x30, &tlv(0x30, &bag))
}

fn encrypted_file(salt: &[u8], rounds: i32, text: &[u8]) -> Vec<u8> {
    let bytes = rounds.to_be_bytes();
    let short = bytes.iter().take(3).take_while(|byte| **byte == 0).count();
    let rounds = tlv(2, &bytes[short..]);
    let algorithm = tlv(0x30, &[PBE, &tlv(0x30, &[tlv(4, salt), rounds].concat())].concat());
    let info = tlv(0x30, &[DATA, &algorithm, &tlv(0x80, text)].concat());
    let data = tlv(0x30, &[&tlv(2, &[0])[..], &info].concat());
    file_with(ENCRYPTED_DATA, &data)
}

/// A file with one safe of this type.
fn file_with(kind: &[u8], content: &[u8]) -> Vec<u8> {
    let safes = tlv(0x30, &tlv(0x30, &[kind, &tlv(0xa0, content)].concat()));
    let outer = tlv(0x30, &[DATA, &tlv(0xa0, &tlv(4, &safes))].concat());
    tlv(0x30, &[tlv(2, &[3]), outer].concat())
}

/// .NET Core 3.1 writes it so for a certificate that it has imported with a key.
#[test]
fn an_attribute_may_be_there_twice() {
    let certificate = der("rsa.pem");
    let attribute = tlv(0x30, &[LOCAL_KEY_ID, &tlv(0x31, &tlv(4, &[7; 20]))].concat());
    let value = tlv(0xa0, &tlv(0x30, &[X509, &tlv(0xa0, &tlv(4, &certificate))].concat()));
    let bag = [CERTIFICATE_BAG, &value, &tlv(0x31, &attribute.repeat(2))].concat();
    let file = file_with(DATA, &tlv(4, &tlv(0x30, &tlv(0x30, &bag))));
    assert_eq!(read(PlaceKind::DotnetStore, &file, &Work::default()).unwrap()[0].der, certificate);
}

#[test]
fn nobody_makes_us_work_for_hours() {
    let work = Work::default();
    let file = encrypted_file(&[1; 8], i32::MAX, &[0; 64]);
    assert_eq!(read(PlaceKind::DotnetStore, &file, &work), Err(Unreadable::TooCostly));
    assert_eq!(work.0.get(), Work::default().0.get(), "nothing was spent");
    let negative = encrypted_file(&[1; 8], -5, &[0; 64]);
    assert!(read(PlaceKind::DotnetStore, &negative, &work).is_err());
    // Many files that each ask for the maximum of one file.
    let work = Work(Cell::new(70_000));
    let file = encrypted_file(&[1; 8], 10_000, &[0; 64]);
    assert_eq!(read(PlaceKind::DotnetStore, &file, &work), Err(Unreadable::TooCostly));
}
