//! The trust store for a Java runtime.
//!
//! Java accepts no additional certificate, only another store (JSSE reference guide, `javax.net.ssl.trustStore`). It
//! therefore gets a copy of its own store with the added certificates. The `java` command takes its path from
//! JDK_JAVA_OPTIONS, and prints one line about that on standard error.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memchr::memmem;
use p12_keystore::{Certificate, KeyStore, KeyStoreEntry};
use windlass_machine::places::PlaceKind;
use windlass_machine::places::read::{self, Trust, Work};

use super::base::Base;
use super::folder::Folder;
use super::input::{self, Input};
use super::report::AddCa;
use crate::environment::Environment;
use crate::program;

/// Only the `java` command reads it, since Java 9. JAVA_TOOL_OPTIONS would make every tool of the JDK print a line as
/// well.
const VARIABLE: &str = "JDK_JAVA_OPTIONS";
/// Variables in which the user may have named a store already.
const OTHERS: [&str; 3] = [VARIABLE, "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"];
const PROPERTY: &[u8] = b"javax.net.ssl.trustStore=";
/// The stores that JSSE looks for below a Java runtime, in this order. Java 8 has one more directory.
const STORES: [&str; 4] =
    ["lib/security/jssecacerts", "lib/security/cacerts", "jre/lib/security/jssecacerts", "jre/lib/security/cacerts"];
/// The content of the store is public; Java requires a password nevertheless.
const PASSWORD: &str = "changeit";

/// The name of the store in the folder of a run.
const STORE: &str = "java.p12";

/// Sets the variable, if there is a Java runtime. `outer` is the folder of an enclosing run.
pub fn set(
    environment: &mut Environment,
    folder: &Folder,
    input: &Input,
    outer: Option<&Path>,
    report: &mut AddCa,
) -> io::Result<()> {
    let Some(home) = home(environment) else { return Ok(()) };
    // Replaces the outer run's store: its certificates are among ours.
    if let Some(ours) = outer.and_then(|outer| options(&outer.join(STORE), None)) {
        let present = environment.value(VARIABLE).unwrap_or_default().as_bytes();
        if let Some(rest) = present.strip_prefix(ours.as_bytes()) {
            let rest = OsStr::from_bytes(rest.strip_prefix(b" ").unwrap_or(rest)).to_owned();
            environment.set(VARIABLE, rest);
        }
    }
    let names_store =
        |name: &&&str| environment.value(name).is_some_and(|value| memmem::find(value.as_bytes(), PROPERTY).is_some());
    if let Some(other) = OTHERS.iter().find(names_store) {
        report.left(VARIABLE, &format!("{other} names a trust store"));
        return Ok(());
    }
    let store = match write(&home, input) {
        Ok(store) => store,
        Err(why) => {
            report.left(VARIABLE, &format!("the trust store of {}: {why}", home.display()));
            return Ok(());
        }
    };
    let path = folder.write(STORE, &store, 0o444)?;
    let present = environment.value(VARIABLE).map(OsStr::to_owned);
    let Some(value) = options(&path, present) else {
        report.left(VARIABLE, "the directory for temporary files has a quotation mark in its name");
        return Ok(());
    };
    environment.set(VARIABLE, value);
    report.variable(VARIABLE, &path);
    Ok(())
}

/// JAVA_HOME, or else the home of the `java` in PATH.
fn home(environment: &Environment) -> Option<PathBuf> {
    let has_java = |home: &PathBuf| home.join("bin/java").exists();
    let named = environment.value("JAVA_HOME").filter(|value| !value.is_empty()).map(PathBuf::from).filter(has_java);
    named.or_else(|| {
        let java = program::find(OsStr::new("java")).ok()?.canonicalize().ok()?;
        java.parent()?.parent().map(Path::to_owned).filter(has_java)
    })
}

fn write(home: &Path, input: &Input) -> Result<Vec<u8>, String> {
    let mut store = KeyStore::new();
    let mut add = |alias: &str, der: &[u8]| {
        // An entry that is no certificate is no anchor in Java either.
        if let Ok(certificate) = Certificate::from_der(der) {
            store.add_entry(alias, KeyStoreEntry::Certificate(certificate));
        }
    };
    for (number, der) in trusted(home)?.iter().enumerate() {
        add(&format!("{number:06}"), der);
    }
    for (number, anchor) in input.anchors.iter().enumerate() {
        add(&format!("windlass-added-{number}"), &anchor.der);
    }
    // More rounds of key derivation would protect no secret, and would cost time in every program that starts.
    let writer = store.writer(PASSWORD).encryption_iterations(1).mac_iterations(1);
    writer.write().map_err(|error| error.to_string())
}

/// The certificates that the runtime trusts; the machine's trust if it has no store.
fn trusted(home: &Path) -> Result<Vec<Vec<u8>>, String> {
    let found = STORES.iter().map(|name| home.join(name)).find(|path| path.exists());
    let (kind, bytes) = match found {
        Some(path) => (PlaceKind::JavaKeystore, input::bytes_of(&path).map_err(|error| error.to_string())?),
        None => (PlaceKind::Cafile, Base::of_machine().pem),
    };
    let entries = read::read(kind, &bytes, &Work::default()).map_err(|error| error.to_string())?;
    Ok(entries.into_iter().filter(|entry| entry.trust == Trust::Anchor).map(|entry| entry.der).collect())
}

/// Our options come first: the variable's earlier value and the command line can override them. Words are separated by
/// blanks unless quoted (java(1), "Using the JDK_JAVA_OPTIONS Launcher Environment Variable").
fn options(store: &Path, present: Option<OsString>) -> Option<OsString> {
    if store.as_os_str().as_bytes().contains(&b'"') {
        return None;
    }
    let mut value = OsString::from("\"-Djavax.net.ssl.trustStore=");
    value.push(store);
    value.push("\" -Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStorePassword=");
    value.push(PASSWORD);
    if let Some(present) = present.filter(|present| !present.is_empty()) {
        value.push(" ");
        value.push(present);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_comes_behind() {
        let value = options(Path::new("/tmp/a b/java.p12"), Some("-Xmx1g".into())).unwrap();
        let expected = "\"-Djavax.net.ssl.trustStore=/tmp/a b/java.p12\" -Djavax.net.ssl.trustStoreType=PKCS12 \
                        -Djavax.net.ssl.trustStorePassword=changeit -Xmx1g";
        assert_eq!(value, expected);
        assert_eq!(options(Path::new("/tmp/\"/java.p12"), None), None);
    }
}
