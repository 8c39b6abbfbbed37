//! What is counted: entry points served, bypasses by reason, and what became of the certificates.

use windlass::{CacheEvent, LoadError};

macro_rules! labels {
    ($(#[$meta:meta])* $enum:ident in $section:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum $enum { $($(#[$doc])* $variant,)* }
        impl $enum {
            const LABELS: &'static [&'static str] = &[$(concat!($section, "/", $name),)*];
        }
    };
}

labels! {
    /// Things that happen to the process and to certificates.
    Event in "openssl" {
        /// A process called a hooked function for the first time.
        ProcessAttached = "processes",
        /// A store was created and is watched.
        StoreCreated = "stores",
        /// Certificates that a stock load would have parsed, and that were only registered.
        AnchorsRegistered = "certificates-registered",
        /// Certificates that were parsed because a verification or an enumeration needed them.
        AnchorsParsed = "certificates-parsed",
        /// Parsed certificates that a store got without parsing them again.
        AnchorsShared = "certificates-shared",
        /// Stores that gave up the certificates they shared with others, because the program asked for some.
        StoreKeptApart = "stores-kept-apart",
        /// Names that a stock load would have parsed a whole certificate for.
        NamesServed = "ca-names-served",
        /// Subjects looked up.
        Lookups = "lookups",
        /// Stores that were filled completely, because the program enumerates them.
        Enumerations = "enumerations",
        /// Certificates that libcrypto refused although our reader had accepted them.
        ParseFailures = "parse-failures",
        /// Loads of the machine's own trust that got the certificates of `windlass run --add-ca` as well.
        AddedCa = "loads-with-added-ca",
    }
}

labels! {
    /// The same for GnuTLS.
    Gnutls in "gnutls" {
        /// A trust list was created and is watched.
        ListCreated = "lists",
        /// Certificates that a stock load would have parsed, and that were only noted.
        AnchorsRegistered = "certificates-registered",
        /// Certificates that were parsed because a verification or a complete list needed them; each once for a list.
        AnchorsParsed = "certificates-parsed",
        /// Those that were parsed for a list again: a verification keeps none.
        AnchorsParsedAgain = "certificates-parsed-again",
        /// Verifications and searches that were answered with a few certificates.
        Verifications = "verifications",
        /// Lists that were filled completely.
        Completions = "completions",
        /// Certificates that GnuTLS refused although they are in the profile.
        ParseFailures = "parse-failures",
        /// Loads of the machine's own trust that got the certificates of `windlass run --add-ca` as well.
        AddedCa = "loads-with-added-ca",
    }
}

labels! {
    /// Entry points that were served.
    Served in "served" {
        /// `X509_STORE_set_default_paths`, `_ex`, and with them `SSL_CTX_set_default_verify_paths`.
        DefaultPaths = "X509_STORE_set_default_paths",
        /// `X509_STORE_load_file`, `_ex`, and with them `SSL_CTX_load_verify_file`.
        LoadFile = "X509_STORE_load_file",
        /// `X509_STORE_load_locations`, `_ex`, and with them `SSL_CTX_load_verify_locations`.
        LoadLocations = "X509_STORE_load_locations",
        /// `X509_LOOKUP_ctrl`, `_ex` with `X509_L_FILE_LOAD`.
        LookupCtrl = "X509_LOOKUP_ctrl",
        /// `X509_load_cert_file`, `_ex`.
        LoadCertFile = "X509_load_cert_file",
        /// `X509_load_cert_crl_file`, `_ex`.
        LoadCertCrlFile = "X509_load_cert_crl_file",
        /// A file of a hashed directory, loaded by libcrypto's own lookup.
        DirectoryFile = "hashed-directory-file",
        /// `SSL_load_client_CA_file`, `SSL_add_file_cert_subjects_to_stack`, `SSL_add_dir_cert_subjects_to_stack`:
        /// files.
        CaNames = "ca-name-list",
        /// `gnutls_x509_trust_list_add_trust_file`, and with it `gnutls_certificate_set_x509_system_trust` and its
        /// kind.
        TrustFile = "gnutls_x509_trust_list_add_trust_file",
        /// `gnutls_x509_trust_list_add_trust_mem`, and with it `gnutls_certificate_set_x509_trust_mem`.
        TrustMemory = "gnutls_x509_trust_list_add_trust_mem",
    }
}

labels! {
    /// Why a call was left to the original function.
    Bypass in "bypass" {
        /// The library is not one of OpenSSL 1.1.1, 3.x, 4.x or GnuTLS 3.7 to 3.8, or lacks a function that is needed.
        UnsupportedLibrary = "unsupported-library",
        /// The program has given libcrypto an allocator of its own. Its stores may be in memory that processes share.
        Allocator = "own-allocator",
        /// The store or trust list was made where it could not be watched (through `dlsym`, or before the library was
        /// there).
        UnknownStore = "unknown-store",
        /// Something in the process may call the library where it is not seen: an object whose import slots could not
        /// be written, or lead to another interposer.
        HiddenCallers = "hidden-callers",
        /// A library context or property query other than the default was asked for.
        LibraryContext = "library-context",
        /// The source does not exist or can't be read.
        Unreadable = "unreadable",
        /// The source is not a regular file, or is too large.
        NotAFile = "not-a-regular-file",
        /// The source holds something else than plain certificates (CRL, TRUSTED CERTIFICATE, key, malformed block …).
        UnsupportedContent = "unsupported-content",
        /// Memory was short.
        NoMemory = "out-of-memory",
        /// The source kept changing while it was read.
        Changing = "changed-while-reading",
        /// A subject of the source would have certificates of several origins in the store.
        SharedSubject = "shared-subject",
        /// Keys are not worked with by libcrypto's own code (a default method, an engine), or it lacks what every
        /// certificate needs.
        KeyMethods = "key-methods",
        /// DER files and other file types are left to libcrypto.
        FileType = "file-type",
        /// The path is missing, empty or not usable.
        Path = "path",
        /// A lookup method of the program's own loads a file.
        OwnMethod = "own-lookup-method",
        /// The program asked for an OSSL_STORE source.
        StoreUri = "store-uri",
        /// GnuTLS: a list or credentials of a libgnutls whose calls of itself can't be seen, and with them what is
        /// loaded.
        HiddenCalls = "gnutls-hidden-calls",
        /// GnuTLS: the list was filled completely before, because something reads or changes it.
        CompleteList = "gnutls-complete-list",
        /// GnuTLS: a server of this process asks for client certificates, and reads CA names straight from the lists.
        ServerNames = "gnutls-server",
        /// GnuTLS: a certificate that it may refuse, change or complain about.
        Profile = "gnutls-profile",
        /// GnuTLS: a CRL comes along with, or in place of, the certificates.
        CrlWithTrust = "crl-with-trust",
        /// GnuTLS: a PKCS#11 URL in place of a file.
        Pkcs11Url = "pkcs11-url",
    }
}

impl Bypass {
    /// The reason that an error of the core is.
    pub fn for_error(error: &LoadError) -> Bypass {
        match error {
            error if error.is_out_of_memory() => Bypass::NoMemory,
            LoadError::Unsupported { .. } => Bypass::UnsupportedContent,
            LoadError::ChangedWhileReading { .. } => Bypass::Changing,
            LoadError::NotAFile { .. } | LoadError::TooLarge { .. } => Bypass::NotAFile,
            _ => Bypass::Unreadable,
        }
    }
}

/// What the core tells of its cache, in the order of its events.
const CACHE: [&str; CacheEvent::ALL.len()] = [
    "cache/load",
    "cache/hit",
    "cache/revalidation",
    "cache/wait",
    "cache/bytes-read",
    "cache/compiled",
    "cache/compiled-by-content",
    "cache/compiled-stale",
    "cache/compiled-distrusted",
    "cache/compiled-malformed",
];

const SECTIONS: [&[&str]; 5] = [&CACHE, Event::LABELS, Gnutls::LABELS, Served::LABELS, Bypass::LABELS];
const COUNT: usize = start_of(SECTIONS.len());

/// How many labels there are in front of a section.
const fn start_of(section: usize) -> usize {
    let (mut before, mut at) = (0, 0);
    while at < section {
        before += SECTIONS[at].len();
        at += 1;
    }
    before
}

/// All labels.
pub static LABELS: [&str; COUNT] = concatenated();

const fn concatenated() -> [&'static str; COUNT] {
    let mut all = [""; COUNT];
    let (mut section, mut at) = (0, 0);
    while section < SECTIONS.len() {
        let mut index = 0;
        while index < SECTIONS[section].len() {
            all[at] = SECTIONS[section][index];
            at += 1;
            index += 1;
        }
        section += 1;
    }
    all
}

/// Anything that has a slot.
pub trait Label {
    /// Index into [`LABELS`].
    fn slot(self) -> usize;
}

macro_rules! slots {
    ($($section:literal $enum:ident)*) => { $(
        impl Label for $enum {
            fn slot(self) -> usize {
                self as usize + const { start_of($section) }
            }
        }
    )* };
}

slots! { 0 CacheEvent 1 Event 2 Gnutls 3 Served 4 Bypass }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_labels_agree() {
        assert_eq!(LABELS[CacheEvent::Load.slot()], "cache/load");
        assert_eq!(LABELS[CacheEvent::CompiledMalformed.slot()], "cache/compiled-malformed");
        assert_eq!(LABELS[Event::ProcessAttached.slot()], "openssl/processes");
        assert_eq!(LABELS[Gnutls::ParseFailures.slot()], "gnutls/parse-failures");
        assert_eq!(LABELS[Served::CaNames.slot()], "served/ca-name-list");
        assert_eq!(LABELS[Bypass::StoreUri.slot()], "bypass/store-uri");
        assert_eq!(LABELS[Bypass::Pkcs11Url.slot()], "bypass/pkcs11-url");
        assert_eq!(Bypass::Pkcs11Url.slot(), LABELS.len() - 1);
        assert!(LABELS.iter().all(|label| label.len() <= 48));
    }
}
