"""Programs that can't load the library, in a system where all others do: docs/install.md, "Programs that it is not
for"."""

from cases import LIST, library

# How each is compiled; what it shows with LD_PRELOAD set for it, and with the library in the list of the machine. "as
# without", or a piece of its standard error and its status.
AS_WITHOUT = ("", 0)
ERROR_LINE = ("ERROR: ld.so: object", 0)
NOT_FIRST = ("ASan runtime does not come first in initial library list", 1)
PROGRAMS = {
    "plain": (("gcc",), AS_WITHOUT, AS_WITHOUT),
    "static": (("gcc", "-static"), AS_WITHOUT, AS_WITHOUT),
    "musl": (("musl-gcc",), ("Error loading shared library", 127), AS_WITHOUT),
    "musl-static": (("musl-gcc", "-static"), AS_WITHOUT, AS_WITHOUT),
    "i386": (("gcc", "-m32"), ERROR_LINE, ERROR_LINE),
    "asan": (("gcc", "-fsanitize=address"), NOT_FIRST, NOT_FIRST),
    "asan-static": (("gcc", "-fsanitize=address", "-static-libasan"), AS_WITHOUT, AS_WITHOUT),
    "tsan": (("gcc", "-fsanitize=thread"), AS_WITHOUT, AS_WITHOUT),
    "ubsan": (("gcc", "-fsanitize=undefined"), AS_WITHOUT, AS_WITHOUT),
}
FOLDER = "/srv/packages"


def other_programs(root, package):
    """programs of musl, of 32 bits, static ones and those with sanitizers do what docs/install.md says of them, and the
    plan names them"""
    package.install(root)
    path = library(root)
    (root / f"{FOLDER}/hello.c").write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    for name, (compiler, _, _) in PROGRAMS.items():
        root.run(*compiler, "-o", f"{FOLDER}/{name}", f"{FOLDER}/hello.c")

    def assert_shows(name, wanted):
        error, status = wanted
        done = root.run(f"{FOLDER}/{name}", code=None)
        shown = f"{name}: {done.returncode} {done.stdout}{done.stderr}"
        assert done.returncode == status and done.stdout == ("hello\n" if status == 0 else ""), shown
        assert error in done.stderr if error else done.stderr == "", shown

    preload = f"LD_PRELOAD={path}"
    for name, (_, by_variable, _) in PROGRAMS.items():
        assert_shows(name, AS_WITHOUT)
        # env(1) of the root sets it for the program only.
        done = root.run("env", preload, f"{FOLDER}/{name}", code=None)
        error, status = by_variable
        assert done.returncode == status and (error in done.stderr if error else done.stderr == ""), (name, done)
    helped = root.run("env", preload, "ASAN_OPTIONS=verify_asan_link_order=0", f"{FOLDER}/asan")
    assert (helped.stdout, helped.stderr) == ("hello\n", ""), helped
    (root / "/etc/systemd/system").mkdir(parents=True, exist_ok=True)
    (root / "/etc/systemd/system/web.service").write_text("[Service]\nExecStart=/bin/true\n")
    notes = root.run("windlass", "install", "--service", "web", "--dry-run").stdout
    for word in ("ld-musl-", "ld-linux", "AddressSanitizer"):
        assert word in notes, f"{word} is not in the plan:\n{notes}"
    refused = root.run("windlass", "install", "--machine", "--yes", code=1).stderr
    assert "won't name the library" in refused, refused
    # By hand, as an administrator could.
    (root / LIST).write_text(f"{path}\n")
    for name, (_, _, by_list) in PROGRAMS.items():
        # chroot(1) and env(1) of this machine start env(1) there, which loads the library in silence.
        assert_shows(name, by_list)
    helped = root.run("env", "ASAN_OPTIONS=verify_asan_link_order=0", f"{FOLDER}/asan")
    assert (helped.stdout, helped.stderr) == ("hello\n", ""), helped
    (root / LIST).unlink()


other_programs.variant = "others"

ALL = [other_programs]
