//! The TLS libraries that a process can use, and how file names identify them.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// A TLS library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsKind {
    /// OpenSSL.
    Openssl,
    /// LibreSSL, which uses OpenSSL's file names.
    Libressl,
    /// BoringSSL, which uses some of OpenSSL's file names, and has no versions.
    Boringssl,
    /// AWS-LC, a descendant of BoringSSL.
    AwsLc,
    /// GnuTLS.
    Gnutls,
    /// Mozilla's NSS.
    Nss,
    /// Mbed TLS.
    Mbedtls,
    /// wolfSSL.
    Wolfssl,
    /// crypto/tls of Go's standard library.
    Go,
    /// The JSSE of a Java virtual machine.
    Java,
    /// rustls.
    Rustls,
}

impl TlsKind {
    /// The name, as its project writes it.
    pub fn name(self) -> &'static str {
        match self {
            TlsKind::Openssl => "OpenSSL",
            TlsKind::Libressl => "LibreSSL",
            TlsKind::Boringssl => "BoringSSL",
            TlsKind::AwsLc => "AWS-LC",
            TlsKind::Gnutls => "GnuTLS",
            TlsKind::Nss => "NSS",
            TlsKind::Mbedtls => "Mbed TLS",
            TlsKind::Wolfssl => "wolfSSL",
            TlsKind::Go => "Go",
            TlsKind::Java => "Java",
            TlsKind::Rustls => "rustls",
        }
    }

    /// Whether the preload library serves it, where it can reach it.
    pub fn can_be_served(self) -> bool {
        matches!(self, TlsKind::Openssl | TlsKind::Gnutls)
    }
}

/// How a library got into a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// By the dynamic loader.
    Dynamic,
    /// It is part of the executable, or of a module such as a Python extension.
    Static,
}

/// A TLS library in a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TlsLibrary {
    /// The kind of library.
    pub kind: TlsKind,
    /// Its version, as `3.0.17`; `None` if it is unknown.
    pub version: Option<String>,
    /// How it got into the process.
    pub linkage: Linkage,
    /// The file that holds it, by the path in the process's root.
    #[serde(serialize_with = "super::lossy::path")]
    pub path: PathBuf,
    /// Whether it is there for TLS. False if only OpenSSL's libcrypto is mapped, as in programs that only compute
    /// hashes.
    pub whole: bool,
}

impl fmt::Display for TlsLibrary {
    /// As `OpenSSL 3.0.17`, or `Go 1.22.5 (static)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(version) = &self.version {
            write!(f, " {version}")?;
        }
        if !self.whole {
            f.write_str(" (libcrypto only)")?;
        }
        // Go's and rustls' are always static.
        if self.linkage == Linkage::Static && !matches!(self.kind, TlsKind::Go | TlsKind::Rustls) {
            f.write_str(" (static)")?;
        }
        Ok(())
    }
}

/// The library that a file of this name is. Wheels rename copies, as in `libcrypto-2ab44a1c.so.1.1`.
///
/// libssl is not considered: there is no libssl without libcrypto, and `libssl3.so` is NSS's.
pub fn by_name(name: &[u8]) -> Option<TlsKind> {
    const NAMES: [(&[u8], TlsKind); 6] = [
        (b"libcrypto", TlsKind::Openssl),
        (b"libgnutls", TlsKind::Gnutls),
        (b"libnss3", TlsKind::Nss),
        (b"libmbedtls", TlsKind::Mbedtls),
        (b"libwolfssl", TlsKind::Wolfssl),
        (b"libjvm", TlsKind::Java),
    ];
    NAMES.into_iter().find(|(start, _)| is_library(name, start)).map(|(_, kind)| kind)
}

/// Whether a file is OpenSSL's libssl.
pub fn is_libssl(name: &[u8]) -> bool {
    is_library(name, b"libssl")
}

/// Modules that are known to contain a TLS library: the Python extension of `cryptography` (its wheels have OpenSSL
/// linked in), and Node.js built as a library.
pub fn may_carry(name: &[u8]) -> bool {
    name.starts_with(b"_rust.") || is_library(name, b"libnode")
}

/// .NET opens libssl itself and finds its functions by `dlsym` through this library (dotnet/runtime,
/// src/native/libs/System.Security.Cryptography.Native/opensslshim.c). Up to .NET Core 3.1, its name has no `lib`
/// prefix.
pub fn is_dotnet_shim(name: &[u8]) -> bool {
    name.strip_prefix(b"lib").unwrap_or(name) == b"System.Security.Cryptography.Native.OpenSsl.so"
}

/// `start`, followed by `.so`, or by a hash and `.so`.
fn is_library(name: &[u8], start: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(start) else { return false };
    rest.starts_with(b".so") || (rest.starts_with(b"-") && rest.windows(3).any(|part| part == b".so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_dotnet_by_both_of_its_names() {
        for name in
            ["System.Security.Cryptography.Native.OpenSsl.so", "libSystem.Security.Cryptography.Native.OpenSsl.so"]
        {
            assert!(is_dotnet_shim(name.as_bytes()), "{name}");
        }
        assert!(!is_dotnet_shim(b"libssl.so.3"));
    }

    #[test]
    fn names_of_files() {
        let names: [(&[u8], Option<TlsKind>); 8] = [
            (b"libcrypto.so.3", Some(TlsKind::Openssl)),
            (b"libcrypto-2ab44a1c.so.1.1", Some(TlsKind::Openssl)),
            (b"libgnutls.so.30.34.3", Some(TlsKind::Gnutls)),
            (b"libnss3.so", Some(TlsKind::Nss)),
            (b"libcryptography.so", None),
            (b"libcryptsetup.so.12", None),
            (b"libgnutls-openssl.so.27", Some(TlsKind::Gnutls)),
            (b"libssl3.so", None),
        ];
        for (name, kind) in names {
            assert_eq!(by_name(name), kind, "{}", String::from_utf8_lossy(name));
        }
        assert!(is_libssl(b"libssl.so.3") && is_libssl(b"libssl-0f1e.so.1.1") && !is_libssl(b"libssl3.so"));
    }

    #[test]
    fn words() {
        let mut library = TlsLibrary {
            kind: TlsKind::Openssl,
            version: Some("3.0.17".into()),
            linkage: Linkage::Static,
            path: "/usr/bin/node".into(),
            whole: true,
        };
        assert_eq!(library.to_string(), "OpenSSL 3.0.17 (static)");
        library = TlsLibrary { linkage: Linkage::Dynamic, whole: false, version: None, ..library };
        assert_eq!(library.to_string(), "OpenSSL (libcrypto only)");
        library = TlsLibrary {
            kind: TlsKind::Go,
            version: Some("1.22".into()),
            linkage: Linkage::Static,
            whole: true,
            ..library
        };
        assert_eq!(library.to_string(), "Go 1.22");
    }
}
