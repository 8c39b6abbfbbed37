//! Why a process that certainly has TLS shows no events: its TLS code is not in a library that can be interposed.

use std::path::Path;

use windlass_machine::processes::{Executables, TlsKind};
use windlass_machine::regular;

/// The reason, if the executable itself shows one.
pub fn out_of_reach(executables: &mut Executables, executable: &Path) -> Option<String> {
    if is_java(executable) {
        return Some(String::from("Java has its own TLS, and reads its roots from its own key store (cacerts)"));
    }
    let linked_in = executables.of(&regular::open(executable).ok()?).code.linked_in();
    let names: Vec<_> = linked_in.into_iter().map(|(kind, version)| name(kind, version.as_deref())).collect();
    let (are, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    (!names.is_empty()).then(|| {
        format!("{} {are} part of the executable itself, so no library can replace {them}", names.join(" and "))
    })
}

fn name(kind: TlsKind, version: Option<&str>) -> String {
    match (kind, version) {
        (TlsKind::Go, Some(version)) => format!("Go's crypto/tls ({version})"),
        (TlsKind::Go, None) => String::from("Go's crypto/tls"),
        (kind, Some(version)) => format!("{} {version}", kind.name()),
        (kind, None) => kind.name().to_owned(),
    }
}

/// A launcher of the Java virtual machine, from JDK 9 on (JEP 220): `bin/java` beside `lib/server/libjvm.so`.
fn is_java(executable: &Path) -> bool {
    let home = executable.canonicalize().ok().and_then(|path| Some(path.parent()?.parent()?.to_path_buf()));
    home.is_some_and(|home| home.join("lib/server/libjvm.so").is_file() || home.join("lib/libjli.so").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_libraries_are_named() {
        let program = tempfile::NamedTempFile::new().unwrap();
        let reason = |text: &str| {
            std::fs::write(program.path(), text).unwrap();
            out_of_reach(&mut Executables::default(), program.path()).unwrap()
        };
        assert!(reason("/rustls-0.1.2/").starts_with("rustls 0.1.2 is part of"));
        let both = reason("/rustls-0.1.2/ crypto/tls.(*Conn).Read");
        assert!(both.starts_with("Go's crypto/tls and rustls 0.1.2 are part of") && both.ends_with("them"), "{both}");
    }

    #[test]
    fn java_is_known_by_its_home() {
        let home = tempfile::tempdir().unwrap();
        let java = home.path().join("bin/java");
        for directory in ["bin", "lib/server"] {
            std::fs::create_dir_all(home.path().join(directory)).unwrap();
        }
        std::fs::write(&java, "").unwrap();
        let mut executables = Executables::default();
        assert_eq!(out_of_reach(&mut executables, &java), None);
        std::fs::write(home.path().join("lib/server/libjvm.so"), "").unwrap();
        assert!(out_of_reach(&mut executables, &java).is_some_and(|reason| reason.starts_with("Java")));
        assert_eq!(out_of_reach(&mut executables, Path::new("/dev/zero")), None);
    }
}
