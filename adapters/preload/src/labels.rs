//! What is counted: entry points served, bypasses by reason, and what became of the certificates.

use windlass::CACHE_LABELS;

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
        /// Names that a stock load would have parsed a whole certificate for.
        NamesServed = "ca-names-served",
        /// Subjects looked up.
        Lookups = "lookups",
        /// Stores that were filled completely, because the program enumerates them.
        Enumerations = "enumerations",
        /// Certificates that libcrypto refused although our reader had accepted them.
        ParseFailures = "parse-failures",
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
        /// `SSL_load_client_CA_file`, `SSL_add_file_cert_subjects_to_stack`, `SSL_add_dir_cert_subjects_to_stack`: files.
        CaNames = "ca-name-list",
    }
}

labels! {
    /// Why a call was left to the original function.
    Bypass in "bypass" {
        /// The libcrypto is not one of OpenSSL 1.1.1, 3.x, 4.x, or lacks a function that is needed.
        UnsupportedLibrary = "unsupported-library",
        /// The store was made before it could be watched (through `dlsym`, or before the library was there).
        UnknownStore = "unknown-store",
        /// No loaded object is linked against this libcrypto or its libssl: whoever uses it found its functions by `dlsym`,
        /// where no hook sees the calls.
        NotLinked = "used-by-dlsym",
        /// A library context or property query other than the default was asked for.
        LibraryContext = "library-context",
        /// The source does not exist or can't be read.
        Unreadable = "unreadable",
        /// The source is not a regular file, or is too large.
        NotAFile = "not-a-regular-file",
        /// The source holds something else than plain certificates (CRL, TRUSTED CERTIFICATE, key, malformed block …).
        UnsupportedContent = "unsupported-content",
        /// The source kept changing while it was read.
        Changing = "changed-while-reading",
        /// A subject of the source would have certificates of several origins in the store.
        SharedSubject = "shared-subject",
        /// DER files and other file types are left to libcrypto.
        FileType = "file-type",
        /// The path is missing, empty or not usable.
        Path = "path",
        /// A lookup method of the program's own loads a file.
        OwnMethod = "own-lookup-method",
        /// The program asked for an OSSL_STORE source.
        StoreUri = "store-uri",
    }
}

const SECTIONS: [&[&str]; 4] = [&CACHE_LABELS, Event::LABELS, Served::LABELS, Bypass::LABELS];
const COUNT: usize = SECTIONS[0].len() + SECTIONS[1].len() + SECTIONS[2].len() + SECTIONS[3].len();

/// All labels; the core's own come first, as it expects.
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

impl Label for Event {
    fn slot(self) -> usize {
        SECTIONS[0].len() + self as usize
    }
}

impl Label for Served {
    fn slot(self) -> usize {
        SECTIONS[0].len() + SECTIONS[1].len() + self as usize
    }
}

impl Label for Bypass {
    fn slot(self) -> usize {
        SECTIONS[0].len() + SECTIONS[1].len() + SECTIONS[2].len() + self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_labels_agree() {
        assert_eq!(LABELS[Event::ProcessAttached.slot()], "openssl/processes");
        assert_eq!(LABELS[Served::CaNames.slot()], "served/ca-name-list");
        assert_eq!(LABELS[Bypass::StoreUri.slot()], "bypass/store-uri");
        assert_eq!(Bypass::StoreUri.slot(), LABELS.len() - 1);
        assert!(LABELS.iter().all(|label| label.len() <= 48));
    }
}
