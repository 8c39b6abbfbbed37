"""The cases: a name, and what is done."""

import os
import pathlib
import shutil
import subprocess

import attaching
import examples
import files
import sharing
import verdicts
from context import PROGRAMS, ROOT, STRICT, system_headers

BORINGSSL = pathlib.Path("/usr/include/android")


def symbols(context):
    """The library exports what the list has, and nothing else; and every name is declared in the header."""
    said = context.run("nm", "-D", "--defined-only", context.library)
    exported = sorted(line.split()[-1] for line in said.splitlines())
    listed = (ROOT / "adapters/c/symbols.txt").read_text().split()
    assert exported == listed, set(exported) ^ set(listed)
    header = (ROOT / "adapters/c/include/windlass.h").read_text()
    missing = [name for name in exported if f"{name}(" not in header]
    assert not missing, missing
    said = context.run("readelf", "-d", context.library)
    assert "soname: [libwindlass.so.0]" in said, said
    return f"{len(exported)} functions"


def headers(context):
    """Every language, with every OpenSSL, without a warning."""
    includes = {build: system_headers(build) for build in verdicts.BUILDS}
    includes["BoringSSL"] = ["-isystem", BORINGSSL]
    languages = [("c", "c99"), ("c", "c11"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++17")]
    tried = 0
    for build, include in includes.items():
        for language, standard in languages:
            if build == "BoringSSL" and standard == "c++11":
                continue  # its own headers want C++14
            subprocess.run(["gcc", "-x", language, f"-std={standard}", *STRICT, "-Wshadow", *include,
                            f"-I{context.prefix / 'include'}", "-c", PROGRAMS / "headers.c", "-o", "/dev/null"],
                           check=True)
            tried += 1
    return f"{tried} combinations"


def api(context):
    notes = []
    for build in verdicts.BUILDS:
        notes.append(context.run(context.test_program("api", build), context.pki.bundle).strip())
        assert len(set(notes)) == 1, notes
    with_crls = context.fresh("api") / "with-crls.pem"
    with_crls.write_bytes(context.pki.bundle.read_bytes() + sharing.lists(context))
    said = context.run(context.test_program("api"), with_crls)
    assert said.endswith(" 3 CRLs\n"), said
    return f"{notes[0]}; {said.strip()}"


def memory(context):
    """No byte is lost and none is touched after its end, whatever a program does."""
    for program, *arguments in ((context.test_program("api"), context.pki.bundle),
                                (context.test_program("threads"), context.pki.bundle, context.pki.twins, 15, 0)):
        context.run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full",
                    "--errors-for-leak-kinds=definite,possible", program, *arguments)


def allocations(context):
    return context.run(context.test_program("allocations"), "/etc/ssl/certs/ca-certificates.crt").strip()


def threads_and_fork(context):
    context.run(context.test_program("threads"), context.pki.bundle, context.pki.twins, 3000, 60)


def race(context):
    """Many certificates of one subject, and threads that need the last of them first; and the same without the part of
    the header that this is about."""
    leaf, via = context.pki.path("good.crt"), context.pki.path("intermediate.crt")
    for build in verdicts.BUILDS:
        said = context.run(context.test_program("race", build), context.pki.twins, leaf, via, 300)
        assert said == "0 of 300 rounds had a wrong verdict\n", (build, said)
    folder = verdicts.with_fault(context, "shared subjects", *verdicts.HALF_SUBJECTS)
    program = context.compile(PROGRAMS / "race.c", f"-I{folder}", "-lssl", "-lcrypto", "-pthread", name="race-broken")
    said = context.run(program, context.pki.twins, leaf, via, 3000)
    assert not said.startswith("0 "), f"not noticed: {said}"
    return f"without it: {said.strip()}"


def install(context):
    """Below DESTDIR, with another directory for libraries; what is there is complete and has no path of the build."""
    root = context.fresh("destdir")
    libdir = "/opt/windlass/lib/arch"
    subprocess.run([ROOT / "packaging/c/install.sh", "/opt/windlass", libdir], check=True,
                   env={**os.environ, "DESTDIR": str(root)})
    found = {f"/{path.relative_to(root)}" for path in root.rglob("*") if not path.is_dir()}
    version = os.readlink(f"{root}{libdir}/libwindlass.so.0")
    assert found == {f"{libdir}/{version}", f"{libdir}/libwindlass.so", f"{libdir}/libwindlass.so.0",
                     f"{libdir}/windlass/libwindlass_preload.so", f"{libdir}/pkgconfig/windlass.pc",
                     "/opt/windlass/include/windlass.h", "/opt/windlass/include/windlass_openssl.h"}, found
    described = pathlib.Path(f"{root}{libdir}/pkgconfig/windlass.pc").read_text()
    assert f"libdir={libdir}\n" in described and "@" not in described and str(root) not in described, described
    header = (ROOT / "adapters/c/include/windlass.h").read_text()
    assert version == f"libwindlass.so.{header.split('WINDLASS_VERSION ')[1].split(chr(34))[1]}", version


def relative(context):
    """A relative DESTDIR is below the caller's directory. With a relative PREFIX or LIBDIR nothing is written: the file
    for pkg-config has to name them."""
    folder = context.fresh("relative")
    beside = set(os.listdir(ROOT))

    def installed(*arguments, **variables):
        ended = subprocess.run([ROOT / "packaging/c/install.sh", *arguments], cwd=folder, text=True, check=False,
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **variables})
        return ended.returncode, ended.stderr

    for arguments in (("opt",), ("opt", "/opt/lib"), ("/opt", "lib"), ("",)):
        for root in ("", "root", str(folder / "root")):
            status, said = installed(*arguments, DESTDIR=root)
            assert status == 2 and said.endswith("is not an absolute path\n"), (arguments, root, status, said)
    assert not os.listdir(folder) and set(os.listdir(ROOT)) == beside, (os.listdir(folder), os.listdir(ROOT))
    assert installed("/opt/windlass", DESTDIR="root") == (0, "")
    assert os.listdir(folder) == ["root"] and (folder / "root/opt/windlass/lib/libwindlass.so").exists()


def boringssl(context):
    """Without lookup methods: all certificates are added by reference."""
    libraries = "/usr/lib/x86_64-linux-gnu/android"
    flags = ["-isystem", BORINGSSL, f"-L{libraries}", "-l:libssl.so.0", "-l:libcrypto.so.0", f"-Wl,-rpath,{libraries}"]
    for name in ("load", "transfers"):
        program = context.compile(PROGRAMS / f"{name}.c", *flags, name=f"{name}-boringssl")
        if name == "load":
            said = context.run(program, context.pki.bundle, 1)
            assert said == "1 0\n0\n\nok\n", said
        else:
            sharing.compare(context, program, contexts=200, stock=10)


CASES = [
    ("install-c", install),
    ("install-c, relative paths", relative),
    ("exported symbols", symbols),
    ("headers", headers),
    ("every certificate and search", api),
    ("attach", attaching.attached),
    ("attach, switched off", attaching.not_attached),
    ("attach, damaged library", attaching.damaged),
    ("attach, secure execution", attaching.secure),
    ("attach, addresses taken before", attaching.taken),
    ("example: libcurl", examples.curl),
    ("example: static OpenSSL", examples.static_openssl),
    ("example: mbedTLS", examples.mbedtls),
    ("examples look at each result", examples.checked),
    ("files that are refused", files.refused),
    ("a file that changes", files.changing),
    ("verdicts", verdicts.compared),
    ("verdicts, broken", verdicts.broken),
    ("1,000 transfers with CRLs", sharing.transfers),
    ("one store, many threads", race),
    ("BoringSSL", boringssl),
    ("threads and fork", threads_and_fork),
    ("memory", memory),
    ("failing allocations", allocations),
]
