//! The names of the counters: entry points served, bypasses by reason, and the fate of the certificates.

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
    /// Events of the process and of certificates.
    Event in "openssl" {
        /// A process called a hooked function for the first time.
        ProcessAttached = "processes",
        /// A store was created and is watched.
        StoreCreated = "stores",
        /// Certificates that were only registered; a stock load would have parsed them.
        AnchorsRegistered = "certificates-registered",
        /// Certificates that were parsed because a verification or an enumeration needed them.
        AnchorsParsed = "certificates-parsed",
        /// Parsed certificates that a store got without parsing them again.
        AnchorsShared = "certificates-shared",
        /// Stores that gave up the certificates they shared with others, because the program asked for some.
        StoreKeptApart = "stores-kept-apart",
        /// Stores that were made again because a source of a followed one had changed.
        StoreMadeAnew = "stores-made-anew",
        /// Stores that are not followed although the program asked for it: successors could not replace them.
        StoreNotFollowed = "stores-not-followed",
        /// Names for which a stock load would have parsed a whole certificate.
        NamesServed = "ca-names-served",
        /// Subjects looked up.
        Lookups = "lookups",
        /// Stores that were filled completely because the program enumerates them.
        Enumerations = "enumerations",
        /// Certificates that libcrypto refused although our reader had accepted them.
        ParseFailures = "parse-failures",
        /// Loads of the machine's own trust that also got the certificates of `windlass run --add-ca`.
        AddedCa = "loads-with-added-ca",
    }
}

labels! {
    /// The same events for GnuTLS.
    Gnutls in "gnutls" {
        /// A trust list was created and is watched.
        ListCreated = "lists",
        /// Certificates that were only noted; a stock load would have parsed them.
        AnchorsRegistered = "certificates-registered",
        /// Certificates that were parsed because a verification or a complete list needed them; each counts once per
        /// list.
        AnchorsParsed = "certificates-parsed",
        /// Certificates that were parsed again for the same list: a verification keeps none.
        AnchorsParsedAgain = "certificates-parsed-again",
        /// Verifications and searches that were answered with a few certificates.
        Verifications = "verifications",
        /// Lists that were filled completely.
        Completions = "completions",
        /// Certificates that GnuTLS refused although they are in the profile.
        ParseFailures = "parse-failures",
        /// Loads of the machine's own trust that also got the certificates of `windlass run --add-ca`.
        AddedCa = "loads-with-added-ca",
    }
}

labels! {
    /// Entry points that were served.
    Served in "served" {
        /// `X509_STORE_set_default_paths`, its `_ex` form, and through them `SSL_CTX_set_default_verify_paths`.
        DefaultPaths = "X509_STORE_set_default_paths",
        /// `X509_STORE_load_file`, its `_ex` form, and through them `SSL_CTX_load_verify_file`.
        LoadFile = "X509_STORE_load_file",
        /// `X509_STORE_load_locations`, its `_ex` form, and through them `SSL_CTX_load_verify_locations`.
        LoadLocations = "X509_STORE_load_locations",
        /// `X509_LOOKUP_ctrl` and its `_ex` form with `X509_L_FILE_LOAD`.
        LookupCtrl = "X509_LOOKUP_ctrl",
        /// `X509_load_cert_file` and its `_ex` form.
        LoadCertFile = "X509_load_cert_file",
        /// `X509_load_cert_crl_file` and its `_ex` form.
        LoadCertCrlFile = "X509_load_cert_crl_file",
        /// A file of a hashed directory, loaded by libcrypto's own lookup.
        DirectoryFile = "hashed-directory-file",
        /// Files read by `SSL_load_client_CA_file`, `SSL_add_file_cert_subjects_to_stack` and
        /// `SSL_add_dir_cert_subjects_to_stack`.
        CaNames = "ca-name-list",
        /// `gnutls_x509_trust_list_add_trust_file`, and through it `gnutls_certificate_set_x509_system_trust` and
        /// similar.
        TrustFile = "gnutls_x509_trust_list_add_trust_file",
        /// `gnutls_x509_trust_list_add_trust_mem`, and through it `gnutls_certificate_set_x509_trust_mem`.
        TrustMemory = "gnutls_x509_trust_list_add_trust_mem",
    }
}

labels! {
    /// The reason why a call was left to the original function.
    Bypass in "bypass" {
        /// The library is not OpenSSL 1.1.1, 3.x, 4.x or GnuTLS 3.7 to 3.8, or lacks a function that is needed.
        UnsupportedLibrary = "unsupported-library",
        /// The program has given libcrypto its own allocator. Its stores may be in memory that processes share.
        Allocator = "own-allocator",
        /// The store or trust list was created out of sight (through `dlsym`, or before the library was loaded).
        UnknownStore = "unknown-store",
        /// The TLS library was there when this library was attached to the running program, and something in the
        /// process may have taken addresses of its functions before.
        LoadedBefore = "loaded-before",
        /// Something in the process may call the library unseen: the import slots of an object could not be written, or
        /// lead to another interposer.
        HiddenCallers = "hidden-callers",
        /// The program asked for a library context or property query other than the default.
        LibraryContext = "library-context",
        /// The source does not exist or can't be read.
        Unreadable = "unreadable",
        /// The source is not a regular file, or is too large.
        NotAFile = "not-a-regular-file",
        /// The source holds more than plain certificates (CRL, TRUSTED CERTIFICATE, key, malformed block …).
        UnsupportedContent = "unsupported-content",
        /// Memory was short.
        NoMemory = "out-of-memory",
        /// The source kept changing while it was read.
        Changing = "changed-while-reading",
        /// The store would get certificates of the same subject from several sources.
        SharedSubject = "shared-subject",
        /// Keys are not handled by libcrypto's own code (a default method, an engine), or libcrypto lacks an algorithm
        /// that every certificate needs.
        KeyMethods = "key-methods",
        /// DER files and other file types are left to libcrypto.
        FileType = "file-type",
        /// The path is missing, empty or not usable.
        Path = "path",
        /// A lookup method of the program's own loads a file.
        OwnMethod = "own-lookup-method",
        /// The program asked for an OSSL_STORE source.
        StoreUri = "store-uri",
        /// GnuTLS: a list or credentials of a libgnutls whose internal calls can't be seen; anything loaded into them
        /// counts here.
        HiddenCalls = "gnutls-hidden-calls",
        /// GnuTLS: the list was already filled completely, because something reads or changes it.
        CompleteList = "gnutls-complete-list",
        /// GnuTLS: a server in this process asks for client certificates, and reads CA names straight from the lists.
        ServerNames = "gnutls-server",
        /// GnuTLS: a certificate that GnuTLS may refuse, change or complain about.
        Profile = "gnutls-profile",
        /// GnuTLS: a CRL comes with the certificates, or instead of them.
        CrlWithTrust = "crl-with-trust",
        /// GnuTLS: a PKCS#11 URL instead of a file.
        Pkcs11Url = "pkcs11-url",
    }
}

impl Bypass {
    /// The bypass reason for an error of the core.
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

/// The labels of the cache's events, in the order of the core's events.
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

/// The number of labels before a section.
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

/// Anything that has a slot on the counters page.
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
