#!/usr/bin/env python3
"""Children in which allocations fail: none dies, prints or trusts more, and all are served when memory is back.

    allocations.py --library L [--builds system,3.5.5] [--gnutls system] [--children 2000] [--stock]

Each build runs its children in processes of their own, two at a time. `--stock` runs without the library: what the TLS
libraries themselves do when memory is short.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent.parent
sys.path[:0] = [str(TESTS / "differential"), str(TESTS / "gnutls")]

import builds  # noqa: E402
import counters  # noqa: E402
import libraries  # noqa: E402
from generate.forge import Signer  # noqa: E402
from generate.pki import Pki, ca_name  # noqa: E402
from one_subject import roots_of_one_subject  # noqa: E402
from programs import CLEAN, execute, write_files  # noqa: E402

COMMON = [HERE / "children.c", HERE / "failing.c"]
MACHINES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
WORKERS = 2
HALF = 512 * 64  # reserve/chunk.rs
# A list of so many does not fit into the reserve.
MANY = 600


def files(pki):
    """A bundle, a directory, one root that is added, and leaves: good, unknown, and one that only claims to be good."""
    pki.leaf("impostor", "Root 1", "r2", 320)
    (shared, _, twin, *_), leaves = roots_of_one_subject(pki.signer)
    large = MACHINES.read_bytes() if MACHINES.exists() else pki.pem("r0")
    return {
        "bundle.pem": shared + pki.pem("r0", "r1") + twin, "large.pem": large + pki.pem("r0"),
        f"dir/{pki.hash_of('Root 3')}.0": pki.pem("r3"), f"dir/{pki.hash_of('Root 1')}.0": pki.pem("r1"),
        "added-root.pem": pki.pem("r4"),
        "good.pem": pki.pem("leaf0"), "good-too.pem": pki.pem("leaf1"), "good-twin.pem": leaves[1],
        "in-directory.pem": pki.pem("leaf3"), "added.pem": pki.pem("leaf4"), "unknown.pem": pki.pem("leaf5"),
        "impostor.pem": pki.pem("impostor"),
    }


def run(program, content, library, first, count):
    folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    write_files(folder, content)
    env = dict(CLEAN, SSL_CERT_FILE="bundle.pem", SSL_CERT_DIR="dir")
    with counters.page() as page:
        if library:
            env.update(page.variable, LD_PRELOAD=str(library))
        done = subprocess.run([str(program), str(first), str(count), library.name if library else ""], cwd=folder,
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="backslashreplace")
    shutil.rmtree(folder)
    return done.returncode, done.stdout


def children(label, program, content, options):
    """The same number for each worker."""
    share = -(-options.children // WORKERS)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        runs = [workers.submit(run, program, content, options.library, options.first + share * at, share)
                for at in range(WORKERS)]
        results = [one.result() for one in runs]
    bad = any(status != 0 for status, _ in results)
    print(f"{'FAIL' if bad else 'ok  '} {label}", flush=True)
    for status, out in results:
        lines = out.splitlines()
        shown = lines if status != 0 or options.verbose else [line for line in lines if line.startswith("of ")]
        print("\n".join(f"     {line}" for line in shown), flush=True)
    return bad


def bounded(label, program, content, options):
    """With all memory of the library's calls from the reserve: no call has had more than half of a chunk, which is what
    a claim promises."""
    status, out = run(program, content, options.sabotaged, options.first, 60)
    most = re.search(r"up to (\d+) bytes of the reserve", out)
    good = status == 0 and most is not None and 0 < int(most[1]) <= HALF
    print(f"{'ok  ' if good else 'FAIL'} {label}: {most[1] if most else 'no'} of {HALF} bytes", flush=True)
    if not good:
        print(out)
    return not good


def many_names(pki):
    """(a file, how many names): at each place where a reader may stop, after 16 KiB and its multiples, a certificate
    has just ended."""
    step, content = 1 << 14, b""
    for at in range(6):
        block = pki.pem(f"r{at}")
        content += b"#\n" * ((-len(content) - len(block)) % step // 2) + (b"\n" if (-len(content) - len(block)) % 2
                                                                          else b"") + block
        assert len(content) % step == 0
    return content, 6


def long_file(pki):
    """The same of the largest file that is looked at: a name lies behind that."""
    first, line = pki.pem("r0"), b"#" * 127 + b"\n"
    left = (1 << 26) - len(first)
    return first + line * (left // len(line)) + b"\n" * (left % len(line)) + pki.pem("r1"), 2


def lists_names(pki, library, build):
    """CA names are complete, or libssl's own business, whatever fails on the way."""
    program = builds.compile_c([HERE / "names.c", HERE / "failing.c"], builds.WORK / "bin" / f"names-{build}", build,
                               ("-rdynamic",))
    bad = False
    with tempfile.TemporaryDirectory(dir=builds.WORK) as folder:
        for name, (content, count) in (("many.pem", many_names(pki)), ("long.pem", long_file(pki))):
            write_files(pathlib.Path(folder), {name: content})
            out = execute([program, name, count, *(["once"] if len(content) > 1 << 20 else [])], folder, library)
            good = out.endswith("exit 0\n")
            bad |= not good
            print(f"{'ok  ' if good else 'FAIL'} CA names of {name} on OpenSSL {build}", flush=True)
            if not good:
                print(out)
    return bad


def many_roots(pki, count):
    for at in range(count):
        pki.root(f"many{at}", ca_name(f"Many {at}"), "r0", 1000 + at)
    return pki.pem(*(f"many{at}" for at in range(count)))


def keeps_objects(many, pki, library, build):
    """No root is lost, and nobody dies, where there is no memory for a store's objects in another order, or others."""
    program = builds.compile_c([HERE / "objects.c", HERE / "failing.c"], builds.WORK / "bin" / f"objects-{build}",
                               build, ("-rdynamic",))
    few = tuple(f"r{at}" for at in range(6))
    bad = False
    with tempfile.TemporaryDirectory(dir=builds.WORK) as folder:
        for name, content, count in (("many.pem", many, MANY), ("few.pem", pki.pem(*few), len(few))):
            write_files(pathlib.Path(folder), {name: content})
            out = execute([program, name, count], folder, library)
            good = out == "all are there\nexit 0\n"
            bad |= not good
            print(f"{'ok  ' if good else 'FAIL'} objects of {name} on OpenSSL {build}", flush=True)
            if not good:
                print(out[-2000:])
    return bad


def opened(library, build):
    """A library that is opened late has its thread-local variables, also where there is no memory for them."""
    program = builds.compile_c([HERE / "opened.c", HERE / "failing.c"], builds.WORK / "bin" / f"opened-{build}", build,
                               ("-rdynamic",))
    out = execute([program, library], builds.WORK)
    good = out == "made\nexit 0\n"
    print(f"{'ok  ' if good else 'FAIL'} opened when threads are there, OpenSSL {build}")
    if not good:
        print(out)
    return not good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--sabotaged", type=pathlib.Path, help="built with feature sabotage: measures the reserve")
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--builds", default=",".join(builds.BUILDS))
    parser.add_argument("--gnutls", default="system,3.8")
    parser.add_argument("--children", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.sabotaged = options.sabotaged and options.sabotaged.resolve()
    options.library = None if options.stock else options.library.resolve()
    (builds.WORK / "bin").mkdir(parents=True, exist_ok=True)
    (libraries.WORK / "bin").mkdir(parents=True, exist_ok=True)
    signer = Signer(str(builds.signer()))
    pki = Pki(signer)
    content, many = files(pki), many_roots(pki, MANY)
    bad = False
    for build in filter(None, options.builds.split(",")):
        program = builds.compile_c([HERE / "openssl.c", *COMMON], builds.WORK / "bin" / f"allocations-{build}", build,
                                   ("-rdynamic",))
        bad |= children(f"allocations fail on OpenSSL {build}", program, content, options)
        if options.sabotaged:
            bad |= bounded(f"the reserve is enough on OpenSSL {build}", program, content, options)
        bad |= lists_names(pki, options.library, build)
        bad |= keeps_objects(many, pki, options.library, build)
        if options.library:
            bad |= opened(options.library, build)
    signer.close()
    for build in filter(None, options.gnutls.split(",")):
        program = libraries.compile_c([HERE / "gnutls.c", *COMMON], "allocations", build, ("-rdynamic",))
        bad |= children(f"allocations fail on GnuTLS {build}", program, content, options)
        if options.sabotaged:
            bad |= bounded(f"the reserve is enough on GnuTLS {build}", program, content, options)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
