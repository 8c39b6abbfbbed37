#!/usr/bin/env python3
"""Runs the differential driver with and without the preload library and
compares, line by line, everything a program could see.

    run.py --library target/release/libwindlass_preload.so
    run.py --library L --builds system,3.5.5 --suites loads --cases 'order-*'
    run.py --library L --sabotage first        succeeds if verdicts change on every build
    run.py --library L --compiled              every source has a compiled store
    run.py --library L --compiled --sabotage lie   compiled stores of other files
    run.py --library L --attached              the library is opened at the start of main, in place of LD_PRELOAD
    run.py --stock                             stock against stock
    run.py --stand-in                          the harness must catch a broken library

Each script runs three times: stock, with the library, and with the library and
WINDLASS_DISABLE=1. Exit status 0 if all agree. With --compiled, a run in which
the library did not serve from compiled stores fails.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

import builds
import compiled
import corpus

KNOWN = pathlib.Path(__file__).resolve().parent / "known-differences.txt"
SHOWN = 12  # differing lines printed for a case


def run_driver(build, case, mode, library, extra_env, stores=None, lie=False, attached=False):
    """The driver's output as lines, ending in its standard error and exit status."""
    here = builds.WORK / "scratch" / build / case.suite / case.name
    private = case.writes or stores is not None and stores.lie
    if private and here.exists():
        shutil.rmtree(here, ignore_errors=True)
    if private:
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(case.folder, here, symlinks=True)
    folder = here if private else case.folder
    script = case.script_for(folder)
    # No compiled store that this machine has.
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "WINDLASS_STORE": ""}
    if mode != "stock":
        env["ATTACHED_LIBRARY" if attached else "LD_PRELOAD"] = str(library)
        env.update(extra_env)
    if mode == "disabled":
        env["WINDLASS_DISABLE"] = "1"
    served = stores is not None and mode == "preload"
    try:
        with stores.serving(build, case, folder, lie) if served else contextlib.nullcontext({}) as more:
            done = subprocess.run(
                [str(builds.driver(build)), "/dev/stdin"], input=script, cwd=folder, env=env | more,
                capture_output=True, timeout=600,
            )
        out = done.stdout.decode("utf-8", "backslashreplace").splitlines()
        out += ["stderr " + s for s in done.stderr.decode("utf-8", "replace").splitlines()]
        out.append(f"exit {done.returncode}")
    except subprocess.TimeoutExpired:
        out = ["exit: still running after ten minutes"]
    if private:
        shutil.rmtree(here, ignore_errors=True)
    return out


def differences(stock, other):
    """(stock line, other line) pairs, aligned by script line number."""
    groups = collections.OrderedDict()
    for side, lines in enumerate((stock, other)):
        for text in lines:
            number = text.split(" ", 1)[0]
            groups.setdefault(number, ([], []))[side].append(text)
    return [pair for pair in groups.values() if pair[0] != pair[1]]


class Known:
    """known-differences.txt: each entry has a reason, and must still be needed."""

    def __init__(self):
        self.entries, self.used = [], set()
        for text in KNOWN.read_text().splitlines() if KNOWN.exists() else []:
            if text.strip() and not text.startswith("#"):
                build, case, pattern, reason = (p.strip() for p in text.split("|", 3))
                assert reason, f"no reason in {KNOWN.name}: {text}"
                self.entries.append((build, case, re.compile(pattern)))

    def allows(self, build, case, pair):
        text = "\n".join(pair[0]) + "\n=>\n" + "\n".join(pair[1])
        for n, (builds_glob, case_glob, pattern) in enumerate(self.entries):
            if fnmatch.fnmatch(build, builds_glob) and fnmatch.fnmatch(case.name, case_glob) \
                    and pattern.search(text):
                self.used.add(n)
                return True
        return False

    def unneeded(self):
        return [e for n, e in enumerate(self.entries) if n not in self.used]


def is_verdict(case, pair):
    """Whether the differing line belongs to a verification, not to an enumeration."""
    number = (pair[0] or pair[1])[0].split(" ", 1)[0]
    script = case.script_for(case.folder).decode().splitlines()
    return number.isdigit() and int(number) <= len(script) \
        and script[int(number) - 1].startswith("verify")


def one_case(build, case, options, modes):
    stores = options.stores
    if options.sabotage:
        # Against the same library unsabotaged: no other difference can stand in for this one.
        stock = run_driver(build, case, "preload", options.library, {}, stores, attached=options.attached)
    else:
        stock = run_driver(build, case, "stock", None, {})
    found = []
    if not stock[-1] == "exit 0":
        found.append(("stock", [(stock[-3:], ["the stock run itself failed"])]))
    for mode in modes:
        if mode == "disabled" and not options.all_modes and zlib.crc32(case.name.encode()) % 4:
            continue  # a switched-off library needs no more than a sample
        library = None if mode == "again" else options.library
        other = run_driver(build, case, "stock" if mode == "again" else mode, library,
                           options.env, stores, options.sabotage == "lie", options.attached)
        if other != stock:
            found.append((mode, differences(stock, other) or [(stock, other)]))
    return build, case, len(stock), found


def bytes_of_second_load(build, case, mode, options):
    """How much a second load of an unchanged file reads."""
    probe = dataclasses.replace(case, script=(
        b"store 0\nlocations 0 roots.pem -\nstore 1\nbytes_read\nlocations 1 roots.pem -\nbytes_read\n"))
    out = run_driver(build, probe, mode, options.library, {}, attached=options.attached)
    first, second = (int(text.split()[-1]) for text in out if " bytes_read " in text)
    return second - first


def not_served(chosen, options):
    """Builds on which the library does nothing, where agreement would be worth nothing."""
    case = next(c for c in corpus.cases(["loads"]) if c.name == "single-000")
    return [b for b in chosen if bytes_of_second_load(b, case, "preload", options) * 2
            > bytes_of_second_load(b, case, "stock", options)]


def show(build, case, mode, pairs):
    print(f"--- {build} {case.suite}/{case.name} ({mode}): {len(pairs)} calls differ")
    script = case.script_for(case.folder).decode().splitlines()
    for stock, other in pairs[:SHOWN]:
        number = (stock or other)[0].split(" ", 1)[0]
        if number.isdigit() and int(number) <= len(script):
            print(f"    script: {script[int(number) - 1]}")
        for prefix, lines in (("stock", stock), ("  now", other)):
            for text in lines:
                print(f"    {prefix}: {text}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--builds", default=",".join(builds.BUILDS))
    parser.add_argument("--suites", default=",".join(corpus.SUITES))
    parser.add_argument("--cases", default="*", help="glob over case names")
    parser.add_argument("--sabotage", choices=("first", "last", "reversed", "lie"))
    parser.add_argument("--compiled", action="store_true",
                        help="with a compiled store of every source")
    parser.add_argument("--attached", action="store_true", help="dlopen in place of LD_PRELOAD")
    parser.add_argument("--windlass", type=pathlib.Path,
                        help="the command that compiles (default: beside the library)")
    parser.add_argument("--sample", type=int, default=1, metavar="N",
                        help="every Nth case, and all in which files change")
    parser.add_argument("--stock", action="store_true", help="compare stock with stock")
    parser.add_argument("--stand-in", action="store_true", help="use the broken stand-in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-disabled", action="store_true", help="skip WINDLASS_DISABLE=1")
    parser.add_argument("--all-modes", action="store_true",
                        help="WINDLASS_DISABLE=1 for every case, not for a sample")
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    options = parser.parse_args()
    if options.stand_in:
        options.library = builds.stand_in()
    if not options.stock and (options.library is None or not options.library.is_file()):
        parser.error(f"no library {options.library}: build it with cargo build --release")
    options.library = options.library and options.library.resolve()
    options.env = {"WINDLASS_SABOTAGE": options.sabotage} if options.sabotage not in (None, "lie") else {}
    options.stores = None
    if options.compiled:
        windlass = options.windlass or options.library.with_name("windlass")
        options.stores = compiled.Stores(windlass.resolve(strict=True), options.sabotage == "lie")
    elif options.sabotage == "lie":
        parser.error("--sabotage lie needs --compiled")
    return options


def main():
    options = parse_arguments()
    must_differ = bool(options.sabotage or options.stand_in)
    modes = ["again"] if options.stock else ["preload"]
    if not (options.stock or must_differ or options.no_disabled or options.compiled):
        modes.append("disabled")
    chosen = options.builds.split(",")
    for build in chosen:
        builds.driver(build)
    cases = [c for c in corpus.cases(options.suites.split(","))
             if fnmatch.fnmatch(c.name, options.cases)
             and (c.writes or zlib.crc32(c.name.encode()) % options.sample == 0)]
    if options.compiled:
        cases = [compiled.with_absolute_paths(c) for c in cases]
    known, passed, failed, lines = Known(), 0, 0, 0
    for build in not_served(chosen, options) if not (options.stock or must_differ) else []:
        print(f"{build}: a second load of the same file is not served; is {options.library} active?")
        failed += 1
    broken_calls = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(one_case, build, case, options, modes)
                for case in cases for build in chosen if case.wants(build)]
        for job in concurrent.futures.as_completed(jobs):
            build, case, seen, found = job.result()
            lines += seen
            bad = []
            for mode, pairs in found:
                left = [p for p in pairs if (is_verdict(case, p) if must_differ
                                             else not known.allows(build, case, p))]
                broken_calls[build] += len(left)
                if left:
                    bad.append((mode, left))
            passed, failed = passed + (not bad), failed + bool(bad)
            for mode, left in bad:
                if not options.quiet and not must_differ:
                    show(build, case, mode, left)
    if must_differ:
        missed = [b for b in chosen if not broken_calls[b]]
        for build in chosen:
            print(f"{build}: {broken_calls[build]} verdicts show the broken library")
        print(f"differential, broken library: {len(chosen) - len(missed)} passed, "
              f"{len(missed)} failed")
        return 1 if missed else 0
    failed += options.stores.report(chosen) if options.compiled else 0
    whole = options.cases == "*" and options.sample == 1 and set(chosen) == set(builds.BUILDS) \
        and set(options.suites.split(",")) == set(corpus.SUITES) and not options.stock
    for entry in known.unneeded() if whole else []:
        print(f"{KNOWN.name}: no longer needed: {entry[0]} | {entry[1]} | {entry[2].pattern}")
        failed += 1
    print(f"compared {lines} lines of output in each of {len(modes) + 1} runs")
    how = (", compiled" if options.compiled else "") + (", attached" if options.attached else "")
    print(f"differential{how}: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
