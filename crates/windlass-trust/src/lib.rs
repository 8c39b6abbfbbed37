//! What sources say about certificates beyond "this is an anchor": for what purposes one is trusted, that one is not to
//! be trusted, and from when on what it issues is not. This serves the PKCS#11 token; a root store has anchors alone.
//!
//! A PEM bundle has lost all that; p11-kit directories and Mozilla's certdata.txt have it. [`TrustLocation`] reads any
//! of the three into a [`TrustStore`], with the meaning that p11-kit-trust (0.24 to 0.26) gives to files and NSS to
//! certdata.txt.
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

/// Where p11-kit looks for trust as it is built on Fedora and Red Hat, SUSE, Arch; and Debian, Alpine and others. The
/// first row of which anything is there is what a token serves that is told nothing else.
pub const USUAL_PLACES: [&[&str]; 4] = [
    &["/etc/pki/ca-trust/source", "/usr/share/pki/ca-trust-source"],
    &["/etc/pki/trust", "/usr/share/pki/trust"],
    &["/etc/ca-certificates/trust-source", "/usr/share/ca-certificates/trust-source"],
    &["/etc/ssl/certs/ca-certificates.crt"],
];
