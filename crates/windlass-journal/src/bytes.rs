//! Bytes and names in JSON: as text if they are valid text, otherwise as `{"hex": "…"}`. A change under a name that
//! does not survive the round trip could not be undone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windlass_machine::anchors::name::hex;

/// The bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Read {
    Plain(String),
    Bytes {
        hex: String,
    },
    /// The form in records of the first version.
    Text {
        text: String,
    },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        match Read::deserialize(deserializer)? {
            Read::Plain(text) | Read::Text { text } => Ok(Bytes(text.into_bytes())),
            Read::Bytes { hex } => {
                of_hex(hex.as_bytes()).map(Bytes).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
            }
        }
    }
}

fn write<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => serializer.collect_map([("hex", hex(bytes))]),
    }
}

fn of_hex(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    hex.chunks(2).map(pair).collect()
}

/// Serializes a name.
pub fn serialize<S: Serializer>(name: &(impl AsRef<OsStr> + ?Sized), serializer: S) -> Result<S::Ok, S::Error> {
    write(name.as_ref().as_bytes(), serializer)
}

/// Deserializes a name.
pub fn deserialize<'de, D: Deserializer<'de>, N: From<OsString>>(deserializer: D) -> Result<N, D::Error> {
    Bytes::deserialize(deserializer).map(|Bytes(name)| N::from(OsString::from_vec(name)))
}

/// The same for names that may be missing.
pub mod optional {
    use super::{Bytes, Deserialize, Deserializer, OsString, OsStringExt, Serializer, write};
    use std::os::unix::ffi::OsStrExt;

    /// Serializes a name, or nothing.
    pub fn serialize<S: Serializer>(name: &Option<OsString>, serializer: S) -> Result<S::Ok, S::Error> {
        match name {
            Some(name) => write(name.as_bytes(), serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Deserializes a name, if there is one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OsString>, D::Error> {
        Option::<Bytes>::deserialize(deserializer).map(|name| name.map(|Bytes(name)| OsString::from_vec(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_record() {
        for bytes in [&b""[..], b"text\n", b"\xff\x00\xfe\n"] {
            let json = serde_json::to_string(&Bytes(bytes.to_vec())).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().0, bytes);
        }
        for (json, expected) in [(r#"{"text": "a\n"}"#, &b"a\n"[..]), (r#"{"hex": "ff0A"}"#, b"\xff\x0a")] {
            assert_eq!(serde_json::from_str::<Bytes>(json).unwrap().0, expected, "of the first version");
        }
        for hex in ["0", "zz", "+1"] {
            assert!(serde_json::from_str::<Bytes>(&format!("{{\"hex\": {hex:?}}}")).is_err());
        }
    }
}
