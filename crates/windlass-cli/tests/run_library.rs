//! How `windlass run` finds its library, and what it says about one that would not do.

mod common;

use std::path::{Path, PathBuf};

use common::{copy_program, stand_in, windlass};
use predicates::prelude::*;
use predicates::str::contains;

fn with_library(path: &Path) -> assert_cmd::assert::Assert {
    windlass().env("WINDLASS_PRELOAD_LIBRARY", path).args(["run", "sh", "-c", "printf %s \"$LD_PRELOAD\""]).assert()
}

/// A copy of the stand-in with other bytes at a place of its ELF header.
fn altered(directory: &Path, place: usize, bytes: &[u8]) -> PathBuf {
    let mut elf = std::fs::read(stand_in()).unwrap();
    elf[place..place + bytes.len()].copy_from_slice(bytes);
    let path = directory.join("altered.so");
    std::fs::write(&path, elf).unwrap();
    path
}

/// A copy of windlass in a directory of its own: `bin/windlass` below it.
fn installed(directory: &Path) -> assert_cmd::Command {
    let bin = directory.join("bin");
    std::fs::create_dir(&bin).unwrap();
    copy_program(env!("CARGO_BIN_EXE_windlass"), &bin.join("windlass"));
    let mut command = assert_cmd::Command::new(bin.join("windlass"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.args(["run", "sh", "-c", "printf %s \"$LD_PRELOAD\""]);
    command
}

#[test]
fn without_a_library_the_paths_that_were_tried_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let tried = format!(
        "windlass: the preload library was not found: none of these is a file:\n    \
         {0}/bin/libwindlass_preload.so\n    \
         {0}/lib/windlass/libwindlass_preload.so\n    {0}/lib/{1}-linux-gnu/windlass/libwindlass_preload.so\n  help: ",
        root.display(),
        std::env::consts::ARCH
    );
    installed(directory.path())
        .assert()
        .code(125)
        .stdout("")
        .stderr(contains(tried).and(contains("WINDLASS_PRELOAD_LIBRARY")));
}

#[test]
fn the_library_beside_the_command_comes_before_the_one_in_lib() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let mut command = installed(directory.path());
    std::fs::create_dir_all(root.join("lib/windlass")).unwrap();
    let in_lib = root.join("lib/windlass/libwindlass_preload.so");
    std::fs::copy(stand_in(), &in_lib).unwrap();
    command.assert().success().stdout(in_lib.display().to_string());
    let beside = root.join("bin/libwindlass_preload.so");
    std::fs::copy(stand_in(), &beside).unwrap();
    command.assert().success().stdout(beside.display().to_string());
}

#[test]
fn a_relative_path_is_made_absolute() {
    let directory = stand_in().parent().unwrap();
    let mut command = windlass();
    command.current_dir(directory).env("WINDLASS_PRELOAD_LIBRARY", "stand-in.so");
    command.args(["run", "sh", "-c", "cd / && printf %s \"$LD_PRELOAD\""]);
    let expected = directory.canonicalize().unwrap().join("stand-in.so");
    command.assert().success().stdout(expected.display().to_string()).stderr("");
}

#[test]
fn a_named_library_that_is_missing_is_an_error() {
    let assert = with_library(Path::new("/no/such/library.so")).code(125).stdout("");
    assert.stderr(contains(
        "preload library /no/such/library.so: No such file or directory\n  help: set WINDLASS_PRELOAD_LIBRARY",
    ));
    with_library(Path::new("/tmp")).code(125).stderr(contains("/tmp: not a file"));
}

#[test]
fn a_file_that_is_no_library_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    with_library(&text).code(125).stderr(contains("not an ELF shared object"));
    // e_type: ET_REL
    with_library(&altered(directory.path(), 16, &[1, 0])).code(125).stderr(contains("not an ELF shared object"));
    // Cut within the header.
    let cut = directory.path().join("cut.so");
    std::fs::write(&cut, &std::fs::read(stand_in()).unwrap()[..30]).unwrap();
    with_library(&cut).code(125).stderr(contains("not an ELF shared object"));
}

/// The loader would print an error line in every program.
#[test]
fn a_library_of_another_architecture_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    // e_machine: EM_S390, which no little-endian machine is, so that this differs everywhere.
    let assert = with_library(&altered(directory.path(), 18, &[22, 0])).code(125).stdout("");
    assert.stderr(contains("built for 64-bit s390, but this windlass is 64-bit "));
}

#[test]
fn a_path_that_ld_preload_cannot_carry_is_an_error() {
    for name in ["with space", "with:colon", "with$dollar"] {
        let directory = tempfile::tempdir().unwrap();
        let odd = directory.path().join(name);
        std::fs::create_dir(&odd).unwrap();
        let library = odd.join("library.so");
        std::fs::copy(stand_in(), &library).unwrap();
        let assert = with_library(&library).code(125).stdout("");
        assert.stderr(
            contains("which LD_PRELOAD can't carry").and(contains("help: install Windlass under another path")),
        );
    }
}

/// musl's loader ends a program into which it can't load a library for glibc. Here it is glibc's loader under musl's
/// name.
#[test]
fn a_program_of_another_libc_runs_without_the_library() {
    let directory = tempfile::tempdir().unwrap();
    let loader = directory.path().join("ld-musl-test.so.1");
    std::os::unix::fs::symlink(interpreter_of_this_process(), &loader).unwrap();
    let program = directory.path().join("program");
    let source = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv(\"LD_PRELOAD\")); return 0; }";
    common::compile(source, &program, &[&format!("-Wl,--dynamic-linker={}", loader.display())]);

    let mut command = windlass();
    command.env("LD_PRELOAD", "libm.so.6").args(["run", "--stats", "--"]).arg(&program);
    let unreachable = format!("the program uses another C library (loader {})", loader.display());
    command.assert().success().stdout("libm.so.6\n").stderr(contains(unreachable));

    let script = directory.path().join("script");
    common::script(&script, &format!("#!{} argument\n", program.display()));
    windlass().env("LD_PRELOAD", "libm.so.6").arg("run").arg(&script).assert().success().stdout("libm.so.6\n");
}

fn interpreter_of_this_process() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let mut loaders = paths.filter(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("ld")));
    PathBuf::from(loaders.next().expect("a dynamic loader"))
}
