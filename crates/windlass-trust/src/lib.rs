//! Statements of sources about certificates beyond "this is an anchor": the purposes that one is trusted for, that it
//! is distrusted, and the day from which the certificates it issues are not trusted. This serves the PKCS#11 token; a
//! root store holds anchors alone.
//!
//! A PEM bundle has none of these statements; p11-kit directories and Mozilla's certdata.txt have them.
//! [`TrustLocation`] reads any of the three into a [`TrustStore`]. It follows p11-kit-trust (0.24 to 0.26) in the
//! meaning of files, and NSS in the meaning of certdata.txt.
#![deny(unsafe_code)]

mod arguments;
mod certdata;
mod certificate;
mod description;
mod indexed;
mod label;
mod location;
mod p11_kit;
mod standing;
mod statement;
mod store;
mod verdict;
mod view;
mod well_formed;

pub use arguments::paths as paths_argument;
pub(crate) use certificate::{Parts, element, extension as stapled_parts};
pub(crate) use description::{Description, Explicit, Sayings, Stapled};
pub use description::{DistrustAfter, StapledExtension};
pub use location::TrustLocation;
pub use statement::Statement;
pub use store::TrustStore;
pub(crate) use verdict::oid_of;
pub use verdict::{KeyUse, Purpose, Verdict};
pub use view::{Category, TrustCertificate};
pub(crate) use well_formed::{is_algorithm, is_certificate, is_extension};

/// The places of trust of p11-kit as built on Fedora and Red Hat, on SUSE, on Arch, and on Debian, Alpine and others. A
/// token without other instructions serves the first row of which anything exists.
pub const USUAL_PLACES: [&[&str]; 4] = [
    &["/etc/pki/ca-trust/source", "/usr/share/pki/ca-trust-source"],
    &["/etc/pki/trust", "/usr/share/pki/trust"],
    &["/etc/ca-certificates/trust-source", "/usr/share/ca-certificates/trust-source"],
    &["/etc/ssl/certs/ca-certificates.crt"],
];
