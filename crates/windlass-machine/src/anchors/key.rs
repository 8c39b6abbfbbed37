//! Public keys as text.

use std::fmt;

use serde::Serialize;
use x509_parser::asn1_rs::{FromDer, Oid};
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// Named curves of RFC 5480 and RFC 5639, and one that private CAs use.
const CURVES: [(&str, &str); 8] = [
    ("1.2.840.10045.3.1.7", "P-256"),
    ("1.3.132.0.34", "P-384"),
    ("1.3.132.0.35", "P-521"),
    ("1.3.132.0.33", "P-224"),
    ("1.3.132.0.10", "secp256k1"),
    ("1.3.36.3.3.2.8.1.1.7", "brainpoolP256r1"),
    ("1.3.36.3.3.2.8.1.1.11", "brainpoolP384r1"),
    ("1.3.36.3.3.2.8.1.1.13", "brainpoolP512r1"),
];

/// Algorithms that are fully described by their identifier (RFC 8410, RFC 9881).
const ALGORITHMS: [(&str, &str); 6] = [
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
    ("1.2.840.113549.1.1.10", "RSA-PSS"),
    ("2.16.840.1.101.3.4.3.17", "ML-DSA-44"),
    ("2.16.840.1.101.3.4.3.18", "ML-DSA-65"),
    ("2.16.840.1.101.3.4.3.19", "ML-DSA-87"),
];

/// The kind and size of a public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// `RSA`, `EC`, `Ed25519`, ... or an object identifier.
    pub algorithm: String,
    /// Size of an RSA modulus in bits; None for other keys.
    pub bits: Option<usize>,
    /// Name or object identifier of an EC key's curve; None for other keys.
    pub curve: Option<String>,
}

impl Key {
    /// Reads a subject public key info.
    pub fn of(spki: &[u8]) -> Key {
        let Ok((_, info)) = SubjectPublicKeyInfo::from_der(spki) else {
            return Key { algorithm: String::from("unknown"), bits: None, curve: None };
        };
        let id = info.algorithm.algorithm.to_id_string();
        match info.parsed() {
            Ok(PublicKey::RSA(key)) => {
                Key { algorithm: String::from("RSA"), bits: Some(bits(key.modulus)), curve: None }
            }
            Ok(PublicKey::EC(_)) => {
                let curve = info.algorithm.parameters.as_ref().and_then(|any| Oid::try_from(any.clone()).ok());
                let curve = curve.map(|oid| name_of(&CURVES, oid.to_id_string()));
                Key { algorithm: String::from("EC"), bits: None, curve: curve.or_else(|| Some("explicit".into())) }
            }
            Ok(PublicKey::DSA(_)) => Key { algorithm: String::from("DSA"), bits: None, curve: None },
            _ => Key { algorithm: name_of(&ALGORITHMS, id), bits: None, curve: None },
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.algorithm)?;
        if let Some(bits) = self.bits {
            write!(f, " {bits}")?;
        }
        if let Some(curve) = &self.curve {
            write!(f, " {curve}")?;
        }
        Ok(())
    }
}

fn bits(modulus: &[u8]) -> usize {
    let significant: &[u8] = match modulus.iter().position(|byte| *byte != 0) {
        Some(start) => &modulus[start..],
        None => return 0,
    };
    significant.len() * 8 - significant[0].leading_zeros() as usize
}

fn name_of(names: &[(&str, &str)], id: String) -> String {
    names.iter().find(|(known, _)| *known == id).map_or(id, |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::bits;

    #[test]
    fn bits_of_a_modulus_do_not_count_leading_zeros() {
        assert_eq!(bits(&[0, 0x80, 0]), 16);
        assert_eq!(bits(&[0x7f, 0xff]), 15);
        assert_eq!(bits(&[0, 0]), 0);
    }
}
