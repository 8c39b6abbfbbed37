"""Attaching, and what keeps it from happening."""

import os
import shutil
import struct
import subprocess

from context import PROGRAMS

SERVED = "counter served/SSL_CTX_set_default_verify_paths"


def attached(context):
    program = context.test_program("attach")
    said = context.run(program)
    assert said.startswith("attached\n0 \n\nattached\ncounter served/") and "the child" not in said, said
    assert "not detached" not in said, said
    # Already there: by LD_PRELOAD, and as another package's own file, whose functions are not global.
    other = context.fresh("other") / context.preload.name
    shutil.copyfile(context.preload, other)
    for arguments, variables in (((), {"LD_PRELOAD": other}), ((other,), {})):
        said = context.run(program, *arguments, **variables)
        assert said.startswith("already\n0 \n\nattached\ncounter served/"), said


def not_attached(context):
    program = context.test_program("attach")
    said = context.run(program, WINDLASS_DISABLE=1)
    assert said == "disabled\n0 \n\ndisabled\nnothing served\n", said
    # No variable says where the library is.
    said = context.run(program, LD_LIBRARY_PATH="/nonexistent", WINDLASS_LIBRARY="/nonexistent")
    assert said.startswith("attached\n"), said
    # The linker says that it can't load this auditor, and goes on.
    ended = subprocess.run([program], env={"LD_AUDIT": "/nonexistent/auditor.so"}, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=True)
    assert ended.stdout == "audited\n0 \n\naudited\nnothing served\n", ended


def damaged(context):
    """A clear answer, and the program runs as before."""
    program = context.test_program("attach")
    prefix = context.fresh("damaged")
    shutil.copytree(context.prefix / "lib", prefix / "lib", symlinks=True)
    library = prefix / "lib/windlass" / context.preload.name
    whole = library.read_bytes()
    other_machine = whole[:18] + struct.pack("<H", 243) + whole[20:]
    no_end = whole[:4096] + bytes(len(whole) - 4096)
    cases = [(b"", "damaged"), (b"not a library\n", "damaged"), (whole[:64], "damaged"), (whole[:100_000], "damaged"),
             (whole[:-1], "damaged"), (b"\x7fELF" + bytes(1000), "damaged"), (other_machine, "another kind of machine"),
             (no_end, "damaged"), (None, "No such file")]
    for content, reason in cases:
        library.unlink()
        if content is not None:
            library.write_bytes(content)
        else:
            library.parent.rmdir()
        said = context.run(program, LD_LIBRARY_PATH=prefix / "lib")
        lines = said.splitlines()
        assert lines[0] == "unavailable" and lines[1] == f"10 {library}" and reason in lines[2], said
        assert lines[2].startswith(f"{library}: "), said
        assert lines[3:] == ["not-loaded", "nothing served"], said
    # By a relative path: the working directory may be another by now.
    said = context.run("sh", "-c", f"cd {prefix} && LD_LIBRARY_PATH=lib exec {program}")
    assert "relative path" in said and said.startswith("unavailable\n"), said


def secure(context):
    """A program with a capability, run by another user: nothing is loaded."""
    if os.geteuid() != 0:
        return "not tried: only root can"
    program = context.fresh("secure") / "attach"
    shutil.copyfile(context.test_program("attach"), program)
    program.chmod(0o755)
    subprocess.run(["setcap", "cap_net_raw+ep", program], check=True)
    said = context.run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", program)
    assert said == "secure-execution\n0 \n\nnot-loaded\nnothing served\n", said
    return None


def taken(context):
    """The program has an address from before: its OpenSSL is left alone. It says that it has none: served."""
    plugin = context.compile(PROGRAMS / "taken.c", "-DPLUGIN", "-shared", "-fPIC", name="taken-plugin.so")

    def status(take, *arguments):
        program = context.compile(PROGRAMS / "taken.c", f"-DTAKE={take}", "-rdynamic", "-lssl", "-lcrypto", "-ldl",
                                  name=f"taken-{take}")
        return context.run(program, *arguments).splitlines()

    # No path: the program itself.
    for take, how, why in ((1, "before", ["addresses "]), (2, "before", ["addresses "]), (3, "before", ["addresses "]),
                           (4, "hidden", ["addresses "]), (5, "before", ["addresses (unloaded)"])):
        lines = status(take, "attach", context.pki.bundle, plugin)
        assert any(line.startswith(f"library libcrypto {how} ") for line in lines), (take, lines)
        assert [line for line in lines if line.startswith("addresses ")] == why, (take, lines)
        assert not any(line.startswith("counter served/") for line in lines), (take, lines)
        assert ("counter bypass/loaded-before 1" in lines) == (how == "before"), (take, lines)
    for take, wanted in ((0, "attach"), (0, "early"), (1, "early")):
        lines = status(take, wanted, context.pki.bundle)
        assert any(line.startswith("library libcrypto seen ") for line in lines), lines
        assert "counter served/X509_STORE_set_default_paths 1" in lines, lines
        assert not any(line.startswith("addresses") for line in lines), lines
