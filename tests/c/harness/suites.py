"""The cases: a name, and what is done."""

import os
import pathlib
import shutil
import subprocess

import attaching
import builds
import files
import sharing
import verdicts
from context import EXAMPLES, PROGRAMS, ROOT, STRICT, system_headers

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


def curl(context):
    program = context.compile(EXAMPLES / "attach_curl.c", packages=("libcurl",))
    url = f"https://localhost:{context.hosts['good'].port}/"
    said = context.run(program, url, context.pki.bundle)
    assert said.startswith("hello\n" * 3 + "attach: attached\n") and "counter served/" in said, said
    said = context.run(program, f"https://localhost:{context.hosts['untrusted'].port}/", context.pki.bundle, status=60)
    assert "hello" not in said and "attach: attached" in said, said
    said = context.run(program, url, context.pki.bundle, WINDLASS_DISABLE=1)
    assert said.startswith("hello\n" * 3 + "attach: disabled\n") and "counter" not in said, said


def static_openssl(context):
    program = context.compile(EXAMPLES / "static_openssl.c", "-l:libssl.a", "-l:libcrypto.a", "-ldl", "-pthread")
    loaded = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "libssl" not in loaded and "libcrypto" not in loaded, loaded
    for host, status, verified in (("good", 0, "ok"), ("wrong", 1, "hostname mismatch"),
                                   ("untrusted", 1, "unable to get local issuer certificate")):
        said = context.run(program, "localhost", context.hosts[host].port, context.pki.bundle, status=status)
        assert set(said.splitlines()) == {f"verified: {verified}"}, said
    said = context.run(program, "localhost", context.hosts["good"].port, "/nonexistent.pem", status=2)
    assert said == "/nonexistent.pem does not exist\n", said
    # The machine's bundle does not have our root.
    said = context.run(program, "localhost", context.hosts["good"].port, status=1)
    assert "unable to get" in said, said


def mbedtls(context):
    """With Debian's build, which lacks the callback, and with one that has it."""
    exported = subprocess.run("nm -D /usr/lib/*/libmbedtls.so | grep -c mbedtls_ssl_conf_ca_cb", shell=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
    own = builds.TARGET / "mbedtls"
    programs = [context.compile(EXAMPLES / "mbedtls_client.c", "-lmbedtls", "-lmbedx509", "-lmbedcrypto"),
                context.compile(EXAMPLES / "mbedtls_client.c", "-isystem", own / "include",
                                own / "lib/libmbedtls-all.a", name="mbedtls_with_callback")]
    for program in programs:
        for host, status in (("good", 0), ("wrong", 1), ("untrusted", 1)):
            said = context.run(program, "localhost", context.hosts[host].port, context.pki.bundle, status=status)
            assert ("flags 0x0" in said) == (status == 0), (program, host, said)
    assert exported == "0", "Debian's mbedTLS has the callback now"
    return "Debian's has no trusted-certificate callback"


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
    ("exported symbols", symbols),
    ("headers", headers),
    ("every certificate and search", api),
    ("attach", attaching.attached),
    ("attach, switched off", attaching.not_attached),
    ("attach, damaged library", attaching.damaged),
    ("attach, secure execution", attaching.secure),
    ("attach, addresses taken before", attaching.taken),
    ("example: libcurl", curl),
    ("example: static OpenSSL", static_openssl),
    ("example: mbedTLS", mbedtls),
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
