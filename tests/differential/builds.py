"""The OpenSSL builds under test, and the compiled driver for each."""

import hashlib
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = pathlib.Path(os.environ.get("WINDLASS_TEST_TARGET", ROOT / "target"))
WORK = TARGET / "differential"

# "system" is the distribution's own (3.0 on Debian 12); the others are built
# by tests/openssl/build.sh.
BUILDS = ("1.1.1w", "system", "3.5.5", "4.0.3", "1.1.1w-bsymbolic", "3.5.5-bsymbolic",
          "4.0.3-bsymbolic")
SIGNER_BUILD = "3.5.5"  # deterministic nonces came with 3.2


def prefix(build):
    return TARGET / "openssl" / build


def flags_for(build):
    if build == "system":
        return []
    lib = prefix(build) / "lib"
    return [f"-I{prefix(build) / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}"]


def compile_c(sources, output, build, extra=(), libraries=("-lssl", "-lcrypto")):
    """Compiles when a source, a header, the OpenSSL build or the command changed."""
    command = ["gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror",
               "-DOPENSSL_SUPPRESS_DEPRECATED", "-D_GNU_SOURCE", *flags_for(build), *extra,
               *map(str, sources), "-o", str(output), *libraries, "-ldl", "-pthread"]
    state = hashlib.sha256(repr(command).encode())
    folder = pathlib.Path(sources[0]).parent
    for path in sorted({*map(pathlib.Path, sources), *folder.glob("*.h")}):
        state.update(path.read_bytes())
    stamp_file = prefix(build) / "stamp"
    if build != "system":
        state.update(stamp_file.read_bytes())
    stamp = pathlib.Path(f"{output}.stamp")
    if pathlib.Path(output).exists() and stamp.exists() and stamp.read_text() == state.hexdigest():
        return output
    pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, check=True)
    stamp.write_text(state.hexdigest())
    return output


def driver(build, extra=(), suffix=""):
    sources = sorted((HERE / "driver").glob("*.c"))
    return compile_c(sources, WORK / "bin" / f"driver-{build}{suffix}", build, extra)


def signer():
    return compile_c([HERE / "signer.c"], WORK / "bin" / "signer", SIGNER_BUILD)


def stand_in():
    """The broken preload library that the harness must see through."""
    return compile_c([HERE / "standin.c"], WORK / "bin" / "standin.so", "system",
                     ("-shared", "-fPIC"), libraries=())
