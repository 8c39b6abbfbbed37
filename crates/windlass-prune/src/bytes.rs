//! Names in JSON: as text where they are text, else as `{"hex": "…"}`. A name that comes back changed could not be
//! undone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windlass_machine::anchors::name::hex;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Bytes { hex: String },
}

impl Text {
    fn of(name: &OsStr) -> Text {
        name.to_str().map_or_else(|| Text::Bytes { hex: hex(name.as_bytes()) }, |text| Text::Plain(text.to_owned()))
    }

    fn name(self) -> Option<OsString> {
        let hex = match self {
            Text::Plain(text) => return Some(text.into()),
            Text::Bytes { hex } => hex,
        };
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
        bytes.map(OsString::from_vec)
    }
}

/// Writes a name.
pub fn serialize<S: Serializer>(name: &(impl AsRef<OsStr> + ?Sized), serializer: S) -> Result<S::Ok, S::Error> {
    Text::of(name.as_ref()).serialize(serializer)
}

/// Reads a name.
pub fn deserialize<'de, D: Deserializer<'de>, N: From<OsString>>(deserializer: D) -> Result<N, D::Error> {
    let name = Text::deserialize(deserializer)?.name();
    name.map(N::from).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
}

/// The same of names that may be missing.
pub mod optional {
    use super::{Deserialize, Deserializer, OsString, Serialize, Serializer, Text};

    /// Writes a name.
    pub fn serialize<S: Serializer>(name: &Option<OsString>, serializer: S) -> Result<S::Ok, S::Error> {
        name.as_ref().map(|name| Text::of(name)).serialize(serializer)
    }

    /// Reads a name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OsString>, D::Error> {
        let Some(text) = Option::<Text>::deserialize(deserializer)? else { return Ok(None) };
        text.name().map(Some).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
    }
}
