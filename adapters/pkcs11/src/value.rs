//! The value of an attribute.

use std::borrow::Cow;

use cryptoki_sys::CK_ULONG;

/// Bytes as the caller gets them; numbers are in the machine's byte order.
pub enum Value<'a> {
    Bytes(Cow<'a, [u8]>),
    Number([u8; size_of::<CK_ULONG>()]),
    Truth([u8; 1]),
}

impl<'a> Value<'a> {
    pub fn bytes(bytes: &'a [u8]) -> Value<'a> {
        Value::Bytes(Cow::Borrowed(bytes))
    }

    pub fn owned(bytes: impl Into<Vec<u8>>) -> Value<'a> {
        Value::Bytes(Cow::Owned(bytes.into()))
    }

    pub fn text(text: Cow<'a, str>) -> Value<'a> {
        Value::Bytes(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        })
    }

    pub fn number(number: CK_ULONG) -> Value<'static> {
        Value::Number(number.to_ne_bytes())
    }

    pub fn truth(truth: bool) -> Value<'static> {
        Value::Truth([u8::from(truth)])
    }

    pub fn as_slice(&self) -> &[u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(bytes) => bytes,
            Value::Truth(byte) => byte,
        }
    }
}
