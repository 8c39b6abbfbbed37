#!/usr/bin/env python3
"""Whole-process tests of the GnuTLS half: threads, fork, servers, a library that calls only itself, and memory under
valgrind.

    whole.py --library L [--builds system,3.8] [--only threads,fork,servers,apart,valgrind] [--rounds N]
"""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile

import libraries
from libraries import WORK

import builds
import compare
import counters
from generate.forge import Signer
from process import Results, execute, write_files
from scripts.corpus_pki import GnutlsPki

ROUNDS = {"threads": 12, "fork": 40, "servers": 6}
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
VALGRIND = ("valgrind", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=none")
LOST = re.compile(r"(?:definitely|indirectly) lost: ([\d,]+) bytes")
# One case of each kind: what goes into private lists, completed ones, and what GnuTLS does itself.
CASES = (("hierarchies", "hierarchy-001"), ("sources", "longer-001"), ("handshakes", "client-03"),
         ("handshakes", "server-01"))


def stress(results, options, pki, mode):
    """64 threads, or forks, that share lists while others load; the program judges itself. Stock has to pass as
    well."""
    for build in options.builds:
        for library in (None, options.library):
            folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
            write_files(folder, {"root-a.pem": pki.pem("r0"), "root-b.pem": pki.pem("r1"),
                                 "both.pem": pki.pem("r0", "r1"),
                                 "leaf-a.pem": pki.pem("leaf0"), "leaf-b.pem": pki.pem("leaf1")})
            with counters.page() as page:
                out = execute([libraries.stress(build), ".", mode, ROUNDS[mode] * options.rounds], folder, library,
                              env=page.variable if library else {})
                values = page.values()
            served = values.get("served/gnutls_x509_trust_list_add_trust_file") and values.get("gnutls/verifications")
            good = out.endswith("exit 0\n") and (library is None or bool(served) == libraries.serves(build))
            results.check(f"{mode} on GnuTLS {build}{'' if library else ', stock'}", good, f"{out}{values}")
            shutil.rmtree(folder)


def both(command, folder, library):
    """(what the program says with the stock library, with ours, and what was counted)"""
    stock = execute(command, folder, None, env={})
    with counters.page() as page:
        now = execute(command, folder, library, env=page.variable)
        return stock, now, page.values()


def servers(results, options):
    """Every client gets all CA names, also those of sessions that begin while the first ones make the list ready."""
    for build in options.builds:
        bad, registered = [], 0
        for _ in range(ROUNDS["servers"] * options.rounds):
            stock, now, values = both([libraries.servers(build), BUNDLE], WORK, options.library)
            registered += values.get("gnutls/certificates-registered", 0)
            if stock != now or not stock.endswith("exit 0\n"):
                bad.append(f"stock:\n{stock}now:\n{now}{values}")
        results.check(f"servers on GnuTLS {build}", not bad and bool(registered) == libraries.serves(build),
                      "".join(bad[:2]))


def apart(results, options, pki):
    """A libgnutls that calls only itself is left alone: what it does to a list would not be seen."""
    for build in options.builds:
        folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
        write_files(folder, {"root-a.pem": pki.pem("r0"), "both.pem": pki.pem("r0", "r1"),
                             "leaf-a.pem": pki.pem("leaf0")})
        stock, now, values = both([*libraries.apart(build), "root-a.pem", "both.pem", "leaf-a.pem"], folder,
                                  options.library)
        results.check(f"opened with RTLD_DEEPBIND: GnuTLS {build}", stock == now and "remove 1" in stock
                      and stock.endswith("exit 0\n"),
                      f"stock:\n{stock}now:\n{now}{values}")
        shutil.rmtree(folder)


def valgrind(results, options):
    """No invalid access and nothing lost, of ours or of GnuTLS's, on the first of the builds."""
    known = {(case.suite, case.name): case for case in compare.cases({suite for suite, _ in CASES})}
    for build in options.builds[:1]:
        for key in CASES:
            case = known[key]
            script = case.script_for(case.folder).decode().splitlines()
            folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
            # The first lines of a script are enough here, where everything takes fifty times as long.
            (folder / "script").write_text("\n".join(script[:250]) + "\n")
            command = [*VALGRIND, libraries.driver(build), folder / "script"]
            # GnuTLS itself loses CRLs that it does not want.
            stock, ours = (execute(command, case.folder, library) for library in (None, options.library))
            lost = [sum(int(number.replace(",", "")) for number in LOST.findall(out)) for out in (stock, ours)]
            results.check(f"valgrind: {'/'.join(key)} on GnuTLS {build}", ours.endswith("exit 0\n")
                          and lost[0] == lost[1],
                          f"bytes lost, stock and now: {lost}\n{ours[-6000:]}")
            shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--builds", default="system,3.8")
    parser.add_argument("--only", default="threads,fork,servers,apart,valgrind")
    parser.add_argument("--rounds", type=int, default=1, help="multiplies the rounds")
    options = parser.parse_args()
    options.library, options.builds = options.library.resolve(), options.builds.split(",")
    chosen = options.only.split(",")
    WORK.mkdir(parents=True, exist_ok=True)
    signer, results = Signer(str(builds.signer())), Results()
    pki = GnutlsPki(signer)
    for mode in ("threads", "fork"):
        if mode in chosen:
            stress(results, options, pki, mode)
    if "servers" in chosen:
        servers(results, options)
    if "apart" in chosen:
        apart(results, options, pki)
    signer.close()
    if "valgrind" in chosen:
        valgrind(results, options)
    print(f"gnutls, whole processes: {results.passed} passed, {results.failed} failed")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
