//! Whether Windlass serves a process, and if not, why.

use std::fmt;

use serde::Serialize;

use super::Unseen;
use super::libraries::{Linkage, TlsKind, TlsLibrary};

/// Whether the preload library serves a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Served {
    /// The library is in the process, together with a TLS library that it serves.
    Loaded,
    /// It does not serve the process.
    No(Reason),
    /// It could not be determined.
    Unknown(Unseen),
}

/// Why the preload library does not serve a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The process has no TLS library.
    NoTlsLibrary,
    /// The only TLS libraries are of kinds that the preload library does not serve.
    OtherLibrary(TlsKind),
    /// The TLS library is linked into the program.
    LinkedIn(TlsKind),
    /// The program has no dynamic loader.
    StaticProgram,
    /// Secure execution: setuid, setgid or file capabilities (getauxval(3), AT_SECURE).
    Secure,
    /// The program is for another instruction set than this Windlass.
    OtherMachine,
    /// The program uses musl.
    OtherLibc,
    /// .NET reads certificate files itself.
    OwnReader,
    /// The library is loaded, and disabled by WINDLASS_DISABLE.
    Disabled,
    /// The program was started without the library. `windlass run` and `windlass install` change this.
    NotPreloaded,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoTlsLibrary => f.write_str("no TLS library"),
            Reason::OtherLibrary(kind) => write!(f, "{} is not served", kind.name()),
            Reason::LinkedIn(TlsKind::Go) => f.write_str("Go has its own TLS"),
            Reason::LinkedIn(kind) => write!(f, "{} is linked in", kind.name()),
            Reason::StaticProgram => f.write_str("static program"),
            Reason::Secure => f.write_str("setuid, setgid or capabilities"),
            Reason::OtherMachine => f.write_str("other architecture"),
            Reason::OtherLibc => f.write_str("other C library"),
            Reason::OwnReader => f.write_str("reads certificates itself (.NET)"),
            Reason::Disabled => f.write_str("WINDLASS_DISABLE is set"),
            Reason::NotPreloaded => f.write_str("not preloaded"),
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Served::Loaded => f.write_str("yes"),
            Served::No(reason) => write!(f, "no: {reason}"),
            Served::Unknown(Unseen::Gone) => f.write_str("? (ended too soon)"),
            Served::Unknown(Unseen::Forbidden) => f.write_str("? (not permitted)"),
            Served::Unknown(Unseen::Unread) => f.write_str("? (not searched)"),
        }
    }
}

/// The facts that decide, besides the TLS libraries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    /// Whether libwindlass_preload.so is mapped.
    pub preloaded: bool,
    /// Whether WINDLASS_DISABLE is 1.
    pub disabled: bool,
    /// Whether .NET's library that finds OpenSSL's functions is mapped.
    pub reads_itself: bool,
    /// Whether it runs in secure execution; `None`: not known.
    pub secure: Option<bool>,
    /// Whether the executable has a dynamic loader; `None`: not known. valgrind has none, and loads libraries
    /// nevertheless.
    pub has_loader: Option<bool>,
    /// Whether the loader is musl's.
    pub is_musl: bool,
    /// Whether the executable is for this program's machine; `None`: not known.
    pub same_machine: Option<bool>,
}

impl Served {
    /// Picks the most useful reason: reasons that can't be changed come before those that can.
    pub fn decide(libraries: &[TlsLibrary], signs: Signs) -> Served {
        let of_use = |library: &&TlsLibrary| library.kind.can_be_served() && library.linkage == Linkage::Dynamic;
        let reason = if libraries.is_empty() {
            Reason::NoTlsLibrary
        } else if !libraries.iter().any(|library| of_use(&library)) {
            match &libraries[0] {
                TlsLibrary { kind, .. } if signs.has_loader == Some(false) && *kind != TlsKind::Go => {
                    Reason::StaticProgram
                }
                TlsLibrary { kind, linkage: Linkage::Static, .. } => Reason::LinkedIn(*kind),
                TlsLibrary { kind, .. } => Reason::OtherLibrary(*kind),
            }
        } else if signs.same_machine == Some(false) {
            Reason::OtherMachine
        } else if signs.is_musl {
            Reason::OtherLibc
        } else if signs.secure == Some(true) {
            Reason::Secure
        } else if signs.reads_itself {
            Reason::OwnReader
        } else if !signs.preloaded {
            Reason::NotPreloaded
        } else if signs.disabled {
            Reason::Disabled
        } else {
            return Served::Loaded;
        };
        Served::No(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(kind: TlsKind, linkage: Linkage) -> TlsLibrary {
        TlsLibrary { kind, version: None, linkage, path: "/x".into(), whole: true }
    }

    #[test]
    fn the_most_telling_reason_wins() {
        let openssl = [library(TlsKind::Openssl, Linkage::Dynamic)];
        let all = Signs {
            preloaded: true,
            has_loader: Some(true),
            same_machine: Some(true),
            secure: Some(false),
            ..Signs::default()
        };
        assert_eq!(Served::decide(&openssl, all), Served::Loaded);
        let decide = |libraries: &[TlsLibrary], signs| match Served::decide(libraries, signs) {
            Served::No(reason) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(decide(&[], all), Reason::NoTlsLibrary);
        assert_eq!(decide(&openssl, Signs { preloaded: false, ..all }), Reason::NotPreloaded);
        assert_eq!(decide(&openssl, Signs { disabled: true, ..all }), Reason::Disabled);
        assert_eq!(decide(&openssl, Signs { secure: Some(true), preloaded: false, ..all }), Reason::Secure);
        assert_eq!(decide(&openssl, Signs { reads_itself: true, ..all }), Reason::OwnReader);
        assert_eq!(decide(&openssl, Signs { same_machine: Some(false), ..all }), Reason::OtherMachine);
        let node = [library(TlsKind::Openssl, Linkage::Static)];
        assert_eq!(decide(&node, all), Reason::LinkedIn(TlsKind::Openssl));
        assert_eq!(decide(&node, Signs { has_loader: Some(false), ..all }), Reason::StaticProgram);
        let go = [library(TlsKind::Go, Linkage::Static)];
        assert_eq!(decide(&go, Signs { has_loader: Some(false), ..all }), Reason::LinkedIn(TlsKind::Go));
        assert_eq!(decide(&[library(TlsKind::Nss, Linkage::Dynamic)], all), Reason::OtherLibrary(TlsKind::Nss));
    }
}
