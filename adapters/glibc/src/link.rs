//! The instructions that a build script gives to Cargo.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The functions in `shim.c` that replace those of the C library: each reference to one of these names goes there.
const SHIMMED: &[&str] = &[
    "_dl_find_object",
    "dladdr",
    "dladdr1",
    "dlclose",
    "dlerror",
    "dlopen",
    "dlsym",
    "dlvsym",
    "fstat",
    "fstat64",
    "fstatat",
    "fstatat64",
    "lstat",
    "lstat64",
    "memfd_create",
    "mmap64",
    "open64",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_setspecific",
    "pthread_sigmask",
    "stat",
    "stat64",
];

/// The functions in `resident.c`, in the same way.
const SHIMMED_RESIDENT: &[&str] = &[
    "__xpg_strerror_r",
    "abort",
    "dlsym",
    "free",
    "getcwd",
    "getenv",
    "gettid",
    "lseek64",
    "malloc",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_once",
    "readlink",
    "realpath",
    "statx",
    "strlen",
    "write",
];

/// Call this in the build script of a package that is a cdylib. Does nothing for targets without glibc, and for those
/// whose first glibc is newer than 2.17.
pub fn cdylib() {
    link();
}

/// The same for a library that every program loads and none unloads, and that prints nothing: it needs less from other
/// libraries.
pub fn resident_cdylib() {
    let Some(cc) = link() else { return };
    println!("cargo::rustc-cdylib-link-arg=-nostartfiles");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym=__pthread_key_create=0");
    shim(&cc, "resident", SHIMMED_RESIDENT);
}

/// Returns the compiler that was used.
fn link() -> Option<String> {
    println!("cargo::rerun-if-env-changed=CC");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let loader = match (of_target("ENV").as_str(), of_target("ARCH").as_str()) {
        ("gnu", "x86_64") => "ld-linux-x86-64.so.2",
        ("gnu", "aarch64") => "ld-linux-aarch64.so.1",
        _ => return None,
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let cc = compiler();
    let real = |name: &str| asked(&cc, &format!("-print-file-name={name}"));
    let libc = real("libc.so.6");
    println!("cargo::rerun-if-changed={libc}");
    let bytes = fs::read(&libc).unwrap_or_else(|error| {
        panic!("can't read {libc}: {error}; is the C library's development package installed?")
    });
    let source = crate::stand_in::of(&bytes).unwrap_or_else(|error| panic!("{libc} {error}"));
    let path = |name: &str| out.join(name).display().to_string();
    fs::write(path("libc.s"), source.assembler).expect("OUT_DIR can be written to");
    fs::write(path("libc.map"), source.versions).expect("OUT_DIR can be written to");
    let versions = format!("-Wl,--version-script={}", path("libc.map"));
    run(&cc, &["-shared", "-nostdlib", "-Wl,-soname,libc.so.6", &versions, "-o", &path("libc.so.6"), &path("libc.s")]);
    // -lc finds it before the machine's own, which is also a linker script.
    let script =
        format!("GROUP ( {} {} AS_NEEDED ( {} ) )\n", path("libc.so.6"), real("libc_nonshared.a"), real(loader),);
    fs::write(path("libc.so"), script).expect("OUT_DIR can be written to");
    println!("cargo::rustc-cdylib-link-arg=-L{}", out.display());
    shim(&cc, "shim", SHIMMED);
    Some(cc)
}

/// Links one of our C files, and redirects all references to these functions to it.
fn shim(cc: &str, name: &str, functions: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{name}.c")).display().to_string();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let object = out.join(format!("{name}.o")).display().to_string();
    println!("cargo::rerun-if-changed={source}");
    // Unreferenced functions are left out, together with their own references. Without -fno-plt each of these would be
    // looked up twice at every program's start: for its address, and for its call.
    let mut arguments = vec!["-c", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fno-plt", "-Wall"];
    // Otherwise the compiler may turn a function that calls another of the same purpose into a call of itself.
    arguments.extend(["-fno-builtin", "-o", &object, &source]);
    run(cc, &arguments);
    println!("cargo::rustc-cdylib-link-arg={object}");
    for function in functions {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={function}");
    }
}

/// The compiler that Cargo links this target with.
fn compiler() -> String {
    let named = ["RUSTC_LINKER", "CC"].iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
    named.unwrap_or_else(|| "cc".into())
}

fn asked(cc: &str, question: &str) -> String {
    let output = Command::new(cc).arg(question).output().unwrap_or_else(|error| panic!("can't run {cc}: {error}"));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn run(cc: &str, arguments: &[&str]) {
    let output = Command::new(cc).args(arguments).output().unwrap_or_else(|error| panic!("can't run {cc}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{cc} {} failed:\n{said}", arguments.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_function() {
        for (shim, functions) in [(include_str!("shim.c"), SHIMMED), (include_str!("resident.c"), SHIMMED_RESIDENT)] {
            let has =
                |name: &&&str| shim.contains(&format!("__wrap_{name}(")) || shim.contains(&format!("STAT({name}, "));
            assert_eq!(functions.iter().find(|name| !has(name)), None);
            let defines = |line: &&str| {
                let mut words = line.split("__wrap_");
                let is_first_column = line.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
                is_first_column && (words.next().is_some() && words.next().is_some() || line.starts_with("STAT("))
            };
            assert_eq!(shim.lines().filter(defines).count(), functions.len());
        }
    }
}
