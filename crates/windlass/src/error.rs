//! Errors, as facts. To an adapter, each of them means: leave the call to the stock library.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

use crate::memory;

/// Why a source is not in the strict subset that this crate reads.
///
/// Nothing here says that the source is bad: the stock library may well accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Text around or inside the PEM blocks.
    #[error("line {line}: {fault}")]
    Pem {
        /// Line in the file, counted from 1.
        line: u64,
        /// What is unusual about it.
        fault: PemFault,
    },
    /// The structure of a certificate.
    #[error("certificate {certificate}: {fault}")]
    Certificate {
        /// Position among the certificates of the file, counted from 1.
        certificate: u32,
        /// What is unusual about it.
        fault: DerFault,
    },
    /// The structure of a CRL.
    #[error("CRL {crl}: {fault}")]
    Crl {
        /// Position among the CRLs of the file, counted from 1.
        crl: u32,
        /// What is unusual about it.
        fault: DerFault,
    },
    /// A distinguished name given on its own.
    #[error("distinguished name: {0}")]
    Name(NameFault),
    /// The file holds no certificate.
    #[error("no certificate in it")]
    NoCertificate,
    /// More bytes or certificates than this crate indexes.
    #[error("more than can be indexed")]
    TooLarge,
    /// A line that does not occur in Mozilla's certdata.txt.
    #[error("line {line}: not as in certdata.txt")]
    Certdata {
        /// Line in the file, counted from 1.
        line: u64,
    },
    /// Something that removes trust, or may remove it, in an unsupported form.
    #[error("what may take trust away can't be read")]
    Distrust,
    /// There was no memory for the index.
    #[error("not enough memory")]
    OutOfMemory,
}

impl Unsupported {
    /// A short constant name for the reason, for counters.
    pub fn label(&self) -> &'static str {
        match self {
            Unsupported::Pem { fault, .. } => match fault {
                PemFault::OtherLabel => "pem-other-label",
                PemFault::ByteOrderMark => "pem-byte-order-mark",
                _ => "pem-malformed",
            },
            Unsupported::Certificate { fault: DerFault::Name(NameFault::OutOfMemory), .. }
            | Unsupported::Name(NameFault::OutOfMemory) => "out-of-memory",
            Unsupported::Certificate { fault: DerFault::Name(_), .. } | Unsupported::Name(_) => "name",
            Unsupported::Certificate { .. } => "certificate",
            Unsupported::Crl { .. } => "crl",
            Unsupported::NoCertificate => "no-certificate",
            Unsupported::TooLarge => "too-large",
            Unsupported::Certdata { .. } => "certdata",
            Unsupported::Distrust => "distrust",
            Unsupported::OutOfMemory => "out-of-memory",
        }
    }
}

/// What is unusual about a line of a PEM file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PemFault {
    /// A block that is not `CERTIFICATE`: a CRL, a key, a `TRUSTED CERTIFICATE`, …
    #[error("a PEM block other than CERTIFICATE")]
    OtherLabel,
    /// The file begins with a byte order mark.
    #[error("a byte order mark")]
    ByteOrderMark,
    /// A line outside the blocks that OpenSSL would split in two.
    #[error("a line that is too long")]
    LongLine,
    /// A NUL byte outside the blocks.
    #[error("a NUL byte")]
    NulByte,
    /// A line in a block that is not pure base64.
    #[error("a line that is not plain base64")]
    NotBase64,
    /// A block that is larger than any certificate.
    #[error("a block of more than 16 MiB")]
    LongBlock,
    /// A block without its END line.
    #[error("a block that does not end")]
    Unterminated,
    /// An empty block.
    #[error("an empty block")]
    EmptyBlock,
}

/// What is unusual about the structure of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DerFault {
    /// The data end within an element.
    #[error("the data end too early")]
    Truncated,
    /// Bytes are left over after an element.
    #[error("bytes are left over")]
    TrailingBytes,
    /// A length that is not in DER's shortest form, or indefinite.
    #[error("a length that is not in DER's form")]
    Length,
    /// An element with an unexpected tag.
    #[error("an unexpected element")]
    UnexpectedTag,
    /// An INTEGER that is empty or padded, or one that is too large or negative where that is not allowed.
    #[error("a malformed integer")]
    Integer,
    /// A version that does not exist.
    #[error("an unusual version")]
    Version,
    /// An OBJECT IDENTIFIER that is empty, padded, cut short or very long.
    #[error("a malformed object identifier")]
    ObjectIdentifier,
    /// A BIT STRING that is empty or has unused bits.
    #[error("an unusual bit string")]
    BitString,
    /// A BOOLEAN that is neither TRUE nor FALSE.
    #[error("a malformed boolean")]
    Boolean,
    /// Algorithm parameters of an unusual type.
    #[error("unusual algorithm parameters")]
    Parameters,
    /// A time that is not `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`, or not a valid date.
    #[error("an unusual time")]
    Time,
    /// An empty list of extensions, or an empty extension.
    #[error("an empty extension")]
    Extension,
    /// The same extension twice.
    #[error("an extension twice")]
    DuplicateExtension,
    /// More extensions than any real certificate has.
    #[error("too many extensions")]
    ManyExtensions,
    /// An extension that OpenSSL decodes and this crate does not: RFC 3779, proxy certificates.
    #[error("a rare extension")]
    RareExtension,
    /// The value of an extension is not the one that OpenSSL expects, or is a rare form of it.
    #[error("an unusual value of an extension")]
    ExtensionValue,
    /// A public key of a rare type, or one that OpenSSL can't decode.
    #[error("an unusual public key")]
    PublicKey,
    /// The subject, the issuer, or a name in an extension.
    #[error("{0}")]
    Name(NameFault),
    /// The certificate is larger than any real one.
    #[error("more than 16 MiB")]
    TooLarge,
}

/// What is unusual about a distinguished name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameFault {
    /// The structure around the values is not strict DER.
    #[error("a malformed name")]
    Structure,
    /// A name of more than 1 MiB, which OpenSSL refuses (`X509_NAME_MAX`), or an RDN of more than 16 entries.
    #[error("a name of more than 1 MiB, or of more than 16 entries in one of its parts")]
    TooLarge,
    /// A value of a type whose canonical form this crate does not know.
    #[error("a name with an unusual type of string")]
    StringType,
    /// A value that is not valid for its type.
    #[error("a name with a malformed string")]
    StringValue,
    /// There was no memory for its canonical form.
    #[error("not enough memory")]
    OutOfMemory,
}

/// Why a source could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The path does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The path, as the caller gave it.
        path: PathBuf,
    },
    /// The operating system returned an error.
    #[error("cannot {action} {}: {}", path.display(), io::Error::from_raw_os_error(*errno))]
    Io {
        /// The path, as the caller gave it.
        path: PathBuf,
        /// The failed operation, as a verb.
        action: &'static str,
        /// The operating system's error number.
        errno: i32,
    },
    /// Not a regular file or, for a hashed directory, not a directory.
    #[error("{} is not a {wanted}", path.display())]
    NotAFile {
        /// The path, as the caller gave it.
        path: PathBuf,
        /// The expected kind of file.
        wanted: &'static str,
    },
    /// Larger than any trust store, and not read.
    #[error("{} has {size} bytes, more than the limit of {limit}", path.display())]
    TooLarge {
        /// The path, as the caller gave it.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The source changed during every attempt to read it.
    #[error("{} kept changing while it was read", path.display())]
    ChangedWhileReading {
        /// The path, as the caller gave it.
        path: PathBuf,
    },
    /// The source was read, but is not in the strict subset.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: Unsupported,
    },
    /// Another thread was loading the source for this caller too, and panicked.
    #[error("loading {} was interrupted", path.display())]
    Interrupted {
        /// The path, as the caller gave it.
        path: PathBuf,
    },
}

impl LoadError {
    /// The error of a system call: `action` is the failed operation, as a verb.
    pub fn from_errno(path: &Path, action: &'static str, errno: i32) -> LoadError {
        let path = memory::path(path);
        match Errno::from_raw_os_error(errno) {
            Errno::NOENT | Errno::NOTDIR => LoadError::Missing { path },
            _ => LoadError::Io { path, action, errno },
        }
    }

    /// Whether the only reason is a lack of memory: the next call may succeed.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            LoadError::Unsupported { what, .. } => what.label() == Unsupported::OutOfMemory.label(),
            LoadError::Io { errno, .. } => *errno == Errno::NOMEM.raw_os_error(),
            _ => false,
        }
    }

    /// A short constant name for the reason, for counters.
    pub fn label(&self) -> &'static str {
        match self {
            LoadError::Missing { .. } => "missing",
            LoadError::Io { .. } => "io",
            LoadError::NotAFile { .. } => "not-a-file",
            LoadError::TooLarge { .. } => "too-large",
            LoadError::ChangedWhileReading { .. } => "changed-while-reading",
            LoadError::Unsupported { what, .. } => what.label(),
            LoadError::Interrupted { .. } => "interrupted",
        }
    }

    /// The path that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            LoadError::Missing { path }
            | LoadError::Io { path, .. }
            | LoadError::NotAFile { path, .. }
            | LoadError::TooLarge { path, .. }
            | LoadError::ChangedWhileReading { path }
            | LoadError::Unsupported { path, .. }
            | LoadError::Interrupted { path } => path,
        }
    }
}
