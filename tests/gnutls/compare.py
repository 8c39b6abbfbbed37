#!/usr/bin/env python3
"""Runs the GnuTLS driver with and without the preload library and compares, line by line, everything a program could
see.

    compare.py --library target/release/libwindlass_preload.so
    compare.py --library L --builds system --suites sources --cases 'single-*'
    compare.py --library S --sabotage first    S is built with feature sabotage; succeeds if verdicts change where it
    serves compare.py --library L --compiled          suites without files that change, every file with a compiled store
    compare.py --stock                         stock against stock

Each script runs stock and with the library, a sample also with WINDLASS_DISABLE=1. Exit status 0 if all agree and the
library served: it counts what it does, and a run in which everything was left to GnuTLS fails.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zlib

import libraries
from libraries import HERE, WORK

import builds
import compiled
import corpus as shared
import counters
import run as differential
from corpus import Case
from generate.forge import Signer
from scripts import changes, handshakes, hierarchies, mutants, sources
from scripts.corpus_pki import GnutlsPki

SUITES = {
    "hierarchies": lambda signer, pki: hierarchies.cases(signer),
    "sources": lambda signer, pki: sources.cases(pki),
    "handshakes": lambda signer, pki: handshakes.cases(pki),
    "changes": lambda signer, pki: changes.cases(pki),
    "mutants": lambda signer, pki: mutants.cases(pki),
}
CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "WINDLASS_STORE": ""}


def state_of_generators():
    state = hashlib.sha256()
    for path in sorted([*(HERE / "scripts").glob("*.py"), *(libraries.DIFFERENTIAL / "generate").glob("*.py"),
                        libraries.DIFFERENTIAL / "signer.c"]):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def generate(home):
    for old in home.parent.glob("corpus-*"):
        shutil.rmtree(old)
    fresh = home.with_name("corpus-new")
    signer = Signer(str(builds.signer()))
    pki = GnutlsPki(signer)
    for suite, make in SUITES.items():
        for name, files, script, writes in make(signer, pki):
            shared.write_case(fresh / suite / name, files, script, f"{int(writes)} *")
    signer.close()
    fresh.rename(home)


def cases(suites):
    home = WORK / f"corpus-{state_of_generators()}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        generate(home)
    for suite in suites:
        for folder in sorted((home / suite).iterdir()):
            yield Case(suite, folder.name, folder, (folder / "case").read_text().startswith("1"))


def run_driver(build, case, library=None, env=(), windlass=None):
    """The driver's output as lines, ending in its standard error and exit status; and what the library counted."""
    here = WORK / "scratch" / build / case.suite / case.name
    if case.writes:
        shutil.rmtree(here, ignore_errors=True)
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(case.folder, here, symlinks=True)
    folder = here if case.writes else case.folder
    with counters.page() as page:
        env = CLEAN | dict(env) | compiled_store(case,
                                                 windlass) | ({"LD_PRELOAD": str(library), **page.variable} if library
                                                              else {})
        try:
            done = subprocess.run([str(libraries.driver(build)), "/dev/stdin"], input=case.script_for(folder),
                                  cwd=folder, env=env, capture_output=True, timeout=600)
            out = done.stdout.decode("utf-8", "backslashreplace").splitlines()
            out += ["stderr " + text for text in done.stderr.decode("utf-8", "replace").splitlines()]
            out.append(f"exit {done.returncode}")
        except subprocess.TimeoutExpired:
            out = ["exit: still running after ten minutes"]
        counted = page.values()
    if case.writes:
        shutil.rmtree(here, ignore_errors=True)
    return out, collections.Counter(counted)


@functools.cache
def stores_of(folder, windlass):
    """The folder of the compiled stores of all files that a case has."""
    store = compiled.fresh_directory(WORK / "compiled" / folder.parent.name / folder.name)
    compiled.compile_all(windlass, store, compiled.sources(folder))
    return store


def compiled_store(case, windlass):
    return {"WINDLASS_STORE": str(stores_of(case.folder, windlass))} if windlass else {}


def one_case(build, case, options):
    """How many lines there were, [(mode, differences)], and what was counted."""
    if options.sabotage:
        # Against the same library unsabotaged: no other difference can stand in for this one.
        stock, _ = run_driver(build, case, options.library)
        other, counted = run_driver(build, case, options.library, {"WINDLASS_SABOTAGE": options.sabotage})
        runs = [("sabotaged", other)]
    elif options.stock:
        stock, counted = run_driver(build, case)
        runs = [("again", run_driver(build, case)[0])]
    else:
        stock, _ = run_driver(build, case)
        other, counted = run_driver(build, case, options.library, windlass=options.windlass)
        runs = [("preload", other)]
        if options.all_modes or zlib.crc32(case.name.encode()) % 8 == 0:
            runs.append(("disabled", run_driver(build, case, options.library, {"WINDLASS_DISABLE": "1"})[0]))
    found = [(mode, differential.differences(stock, other) or [(stock, other)]) for mode,
             other in runs if other != stock]
    if stock[-1] != "exit 0":
        found.append(("stock", [(stock[-3:], ["the first run itself failed"])]))
    return build, case, len(stock), found, counted


# What has to have been counted for the comparison to be worth anything, over all cases of a suite: label, at least so
# many times a case.
SERVED = {
    "hierarchies": (("served/gnutls_x509_trust_list_add_trust_file", 4),
                    ("served/gnutls_x509_trust_list_add_trust_mem", 1),
                    ("gnutls/verifications", 20)),
    "sources": (("served/gnutls_x509_trust_list_add_trust_file", 2), ("served/gnutls_x509_trust_list_add_trust_mem", 1),
                ("gnutls/verifications", 40)),
    "handshakes": (("served/gnutls_x509_trust_list_add_trust_file", 5), ("gnutls/verifications", 10),
                   ("bypass/gnutls-server", 0.1)),
    "changes": (("served/gnutls_x509_trust_list_add_trust_file", 5), ("gnutls/verifications", 5)),
    "mutants": (("served/gnutls_x509_trust_list_add_trust_file", 10),
                ("served/gnutls_x509_trust_list_add_trust_mem", 10)),
}


def not_served(build, counted, ran):
    """What the library did too little of; where it can't see GnuTLS's inner calls, it must have done nothing."""
    if not libraries.serves(build):
        total = sum(counted.values(), collections.Counter())
        if any(total[label] for label in total if label.startswith("served/gnutls") or label == "gnutls/verifications"):
            yield f"{build}: something was served: {dict(+total)}"
        if not total["bypass/gnutls-hidden-calls"]:
            yield f"{build}: no bypass gnutls-hidden-calls was counted: {dict(+total)}"
        return
    for suite, count in ran.items():
        for label, least in SERVED[suite]:
            if counted[suite][label] < least * count:
                yield (f"{build}: {counted[suite][label]} {label} in {count} cases of {suite}, expected {least} a "
                       f"case: "
                       f"{dict(+counted[suite])}")


def wants(build, case):
    """Where nothing is served, a sample shows that nothing is changed."""
    return libraries.serves(build) or zlib.crc32(case.name.encode()) % 4 == 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--builds", default=",".join(libraries.BUILDS))
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--cases", default="*", help="glob over case names")
    parser.add_argument("--sample", type=int, default=1, metavar="N",
                        help="every Nth case, and all in which files change")
    parser.add_argument("--sabotage", choices=("first", "last", "reversed"))
    parser.add_argument("--compiled", action="store_true", help="with a compiled store of every file")
    parser.add_argument("--windlass", type=pathlib.Path, help="the command that compiles (default: beside the library)")
    parser.add_argument("--stock", action="store_true", help="compare stock with stock")
    parser.add_argument("--all-modes", action="store_true", help="WINDLASS_DISABLE=1 for every case, not for a sample")
    parser.add_argument("--counters", action="store_true", help="show what was counted")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if not options.stock and (options.library is None or not options.library.is_file()):
        parser.error(f"no library {options.library}: build it with cargo build --release")
    options.library = options.library and options.library.resolve()
    options.windlass = (options.windlass
                        or options.library.with_name("windlass")).resolve(strict=True) if options.compiled else None
    options.builds = options.builds.split(",")
    if options.sabotage:
        options.builds = [build for build in options.builds if libraries.serves(build)]
    return options


def main():
    options = parse_arguments()
    for build in options.builds:
        libraries.driver(build)
    chosen = [case for case in cases(options.suites.split(",")) if fnmatch.fnmatch(case.name, options.cases)
              and (case.writes or zlib.crc32(case.name.encode()) % options.sample == 0)]
    if options.compiled:
        chosen = [compiled.with_absolute_paths(case) for case in chosen if not case.writes]
        for case in chosen:  # here, where no other thread makes them
            stores_of(case.folder, options.windlass)
    if not chosen:
        raise SystemExit("no case of that name")
    passed = failed = lines = 0
    broken, counted = (collections.Counter(),
                       collections.defaultdict(lambda: collections.defaultdict(collections.Counter)))
    ran = collections.Counter(case.suite for case in chosen)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(one_case, build, case, options) for case in chosen
                for build in options.builds if wants(build, case)]
        for job in concurrent.futures.as_completed(jobs):
            build, case, seen, found, counts = job.result()
            lines += seen
            counted[build][case.suite] += counts
            if options.sabotage:
                broken[build] += sum(differential.is_verdict(case, pair) for _, pairs in found for pair in pairs)
                continue
            passed, failed = passed + (not found), failed + bool(found)
            for mode, pairs in found:
                differential.show(build, case, mode, pairs)
    if options.counters:
        for build, suites in counted.items():
            for suite, counts in suites.items():
                print(f"{build} {suite}: {dict(+counts)}")
    if options.sabotage:
        missed = [build for build in options.builds if not broken[build]]
        for build in options.builds:
            print(f"{build}: {broken[build]} verdicts show the broken library")
        print(f"gnutls, broken library: {len(options.builds) - len(missed)} passed, {len(missed)} failed")
        return 1 if missed else 0
    for build in options.builds if not (options.stock
                                        or options.compiled) and options.cases == "*" and options.sample == 1 else []:
        faults = list(not_served(build, counted[build], ran))
        passed, failed = passed + (not faults), failed + bool(faults)
        print("\n".join(faults), end="\n" if faults else "")
    for build in options.builds if options.compiled else []:
        served = sum(counts["cache/compiled"] for counts in counted[build].values())
        print(f"{build}: {served} sources were served from compiled stores")
        passed, failed = passed + bool(served), failed + (not served)
    print(f"compared {lines} lines of output in each of two runs")
    print(f"gnutls{', compiled' if options.compiled else ''}: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
