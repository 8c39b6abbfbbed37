"""The GnuTLS builds under test, and the programs compiled for each."""

import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
DIFFERENTIAL = HERE.parent / "differential"
sys.path.insert(0, str(DIFFERENTIAL))  # the generator, the signer and the counters are shared

import builds  # noqa: E402

# "system" is the distribution's own (3.7.9 on Debian 12); build.sh makes the others. In the last one, which is linked
# as Ubuntu's, calls inside of the library can't be seen: nothing is served.
BUILDS = ("system", "3.8", "3.8-bsymbolic-functions")
WORK = builds.TARGET / "gnutls-tests"


def serves(build):
    return "bsymbolic" not in build


def flags_for(build):
    if build == "system":
        return []
    prefix = builds.TARGET / "gnutls" / build
    return [f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}"]


def compile_c(sources, name, build, extra=(), libraries=("-lgnutls",)):
    shared = DIFFERENTIAL / "driver"
    return builds.compile_c(sources, WORK / "bin" / f"{name}-{build}", "system",
                            (f"-I{shared}", *flags_for(build), *extra), libraries=libraries)


@functools.cache
def driver(build):
    shared = DIFFERENTIAL / "driver"
    sources = sorted((HERE / "driver").glob("*.c"))
    return compile_c([*sources, shared / "script.c", shared / "files.c"], "driver", build)


def stress(build):
    return compile_c([HERE / "stress.c"], "stress", build)


def servers(build):
    return compile_c([HERE / "servers.c"], "servers", build)


def apart(build):
    """The program, the library it opens, and the module."""
    module = compile_c([HERE / "apart.c"], "apart-module", build, ("-DMODULE", "-fPIC", "-shared"))
    library = "libgnutls.so.30" if build == "system" else builds.TARGET / "gnutls" / build / "lib" / "libgnutls.so.30"
    return compile_c([HERE / "apart.c"], "apart", build, libraries=()), library, module
