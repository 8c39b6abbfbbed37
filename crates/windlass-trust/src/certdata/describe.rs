//! Descriptions of the certificates of certdata.txt, derived from its statements.

use std::collections::HashMap;

use sha1::{Digest, Sha1};
use windlass::Unsupported;

use crate::p11_kit::{extension, list};
use crate::{Description, DistrustAfter, Explicit, Parts, Purpose, Sayings, Stapled, Verdict};

/// 2.5.29.37
const EXT_KEY_USAGE: &[u8] = b"\x55\x1D\x25";

/// The subject of a statement: issuer, serial number, and SHA-1 of the certificate if it names one.
type Subject = (Box<[u8]>, Box<[u8]>, Option<[u8; 20]>);

/// Describes each certificate. Of several statements about one certificate NSS may use any, and therefore they must
/// agree; Mozilla's file has one for each. If they disagree, all are described, and then refused.
pub(super) fn describe(all: &mut Sayings) -> Result<(), Unsupported> {
    let mut do_agree = true;
    let mut stated: HashMap<Subject, usize> = HashMap::new();
    for (number, explicit) in all.explicit.iter().enumerate() {
        let subject = (explicit.issuer.clone(), explicit.serial.clone(), explicit.sha1);
        let earlier = stated.insert(subject, number).and_then(|earlier| all.explicit.get(earlier));
        do_agree &= earlier.is_none_or(|earlier| say_the_same(earlier, explicit));
    }
    let mut is_used = vec![false; all.explicit.len()];
    for certificate in &mut all.certificates {
        let Some(der) = certificate.der.as_deref() else { continue };
        let Ok(parts) = Parts::read(der) else { continue };
        let find = |sha1| stated.get(&(Box::from(parts.issuer), Box::from(parts.serial), sha1)).copied();
        let (by_hash, by_name) = (find(Some(Sha1::digest(der).into())), find(None));
        for number in [by_hash, by_name].into_iter().flatten() {
            if let Some(is_used) = is_used.get_mut(number) {
                *is_used = true;
            }
        }
        let statement = |number: Option<usize>| all.explicit.get(number?);
        let (said, besides) = match (statement(by_hash), statement(by_name)) {
            (Some(one), other) => (one, other.filter(|other| !say_the_same(one, other))),
            (None, Some(one)) => (one, None),
            (None, None) => continue,
        };
        do_agree &= besides.is_none();
        let trusted: Vec<[u8; 8]> = trusted_for(said).map(Purpose::oid).collect();
        certificate.trusted = !trusted.is_empty();
        certificate.distrusted = is_distrust(said) || besides.is_some_and(is_distrust);
        let earlier = |own: &mut Option<DistrustAfter>, said: &Option<DistrustAfter>| {
            *own = DistrustAfter::earlier(own.take(), said.clone());
        };
        earlier(&mut certificate.server_distrust_after, &said.server_distrust_after);
        earlier(&mut certificate.email_distrust_after, &said.email_distrust_after);
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
    for (explicit, is_used) in all.explicit.iter().zip(is_used) {
        if !is_used && is_distrust(explicit) {
            all.certificates.push(Description {
                label: explicit.label.clone(),
                issuer: Some(explicit.issuer.clone()),
                serial: Some(explicit.serial.clone()),
                distrusted: true,
                ..Description::default()
            });
        }
    }
    if do_agree { Ok(()) } else { Err(Unsupported::Distrust) }
}

fn say_the_same(one: &Explicit, other: &Explicit) -> bool {
    let said = |one: &Explicit| (one.purposes, one.server_distrust_after.clone(), one.email_distrust_after.clone());
    said(one) == said(other)
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

    fn statement(sha1: Option<[u8; 20]>, server: Verdict) -> Explicit {
        let mut one =
            Explicit { issuer: b"i".as_slice().into(), serial: b"s".as_slice().into(), sha1, ..Explicit::default() };
        one.purposes[Purpose::ServerAuth as usize] = Some(server);
        one
    }

    #[test]
    fn statements_of_one_certificate_must_agree() {
        let of = |explicit: Vec<Explicit>| {
            let mut all = Sayings::default();
            all.explicit = explicit;
            describe(&mut all).map(|()| all.certificates.len())
        };
        let hash = Some([7; 20]);
        let (bad, good) = (statement(hash, Verdict::Distrusted), statement(hash, Verdict::Anchor));
        assert_eq!(of(vec![bad.clone()]), Ok(1));
        assert_eq!(of(vec![good.clone(), good.clone()]), Ok(0));
        assert_eq!(of(vec![bad.clone(), good.clone()]), Err(Unsupported::Distrust));
        assert_eq!(of(vec![good, bad]), Err(Unsupported::Distrust));
    }
}
