#!/usr/bin/env python3
"""A subset of the differential scripts under valgrind, or with the driver built
with AddressSanitizer: no leak, no invalid access, and the stock output.

    memory.py valgrind --library L [--builds system,...] [--all]
    memory.py asan --library L
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import builds
import corpus

CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "WINDLASS_STORE": ""}
SUBSET = (
    "verdicts/universe-000", "verdicts/universe-007", "loads/single-000", "loads/single-005",
    "loads/longer-003", "contexts/changed-certificates", "contexts/shared-stores",
    "contexts/custom-lookups", "names/files", "names/handshakes", "changes/files",
    "changes/live-directory", "handshakes/handshakes-01", "mutants/mutants-00",
)


def valgrind(driver, case, library, log):
    """(output, problems): problems are valgrind's errors and definite leaks."""
    command = ["valgrind", "--quiet", "--leak-check=full", "--show-leak-kinds=definite",
               "--errors-for-leak-kinds=definite", "--num-callers=30", f"--log-file={log}",
               str(driver), "/dev/stdin"]
    return run(command, case, dict(CLEAN, LD_PRELOAD=str(library)) if library else CLEAN), \
        pathlib.Path(log).read_text()


def asan(driver, case, library, log):
    """The sanitizer's own library must come first in LD_PRELOAD."""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, text=True,
                           capture_output=True).stdout.strip()
    env = dict(CLEAN, ASAN_OPTIONS=f"log_path={log}:detect_leaks=1:exitcode=99",
               LD_PRELOAD=os.path.realpath(found) + (f":{library}" if library else ""))
    out = run([str(driver), "/dev/stdin"], case, env)
    reports = sorted(pathlib.Path(log).parent.glob(pathlib.Path(log).name + "*"))
    return out, "".join(p.read_text() for p in reports)


def run(command, case, env):
    with tempfile.TemporaryDirectory(dir=builds.WORK) as scratch:
        folder = case.folder
        if case.writes:
            folder = pathlib.Path(scratch) / "case"
            subprocess.run(["cp", "-a", str(case.folder), str(folder)], check=True)
        done = subprocess.run(command, input=case.script_for(case.folder), cwd=folder, env=env,
                              capture_output=True, timeout=3000)
        return done.stdout.decode("utf-8", "backslashreplace") + f"exit {done.returncode}\n"


def check(tool, driver, case, library):
    """The stock run's own problems (by their number) are not the library's."""
    with tempfile.TemporaryDirectory(dir=builds.WORK) as logs:
        stock, before = tool(driver, case, None, f"{logs}/stock")
        now, problems = tool(driver, case, library, f"{logs}/now")
    # Paths of scratch copies appear in error data.
    stock, now = (re.sub(r"/tmp[a-z0-9_]+/case", "/case", text) for text in (stock, now))
    if "windlass" not in problems and len(problems.splitlines()) <= len(before.splitlines()):
        problems = ""
    return problems, stock == now


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=("valgrind", "asan"))
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--builds", default="system,1.1.1w,4.0.3")
    parser.add_argument("--all", action="store_true", help="every case instead of a subset")
    parser.add_argument("--cases", default="*", help="glob over suite/case")
    options = parser.parse_args()
    library = options.library.resolve()
    tool = {"valgrind": valgrind, "asan": asan}[options.tool]
    extra = ("-fsanitize=address", "-fno-omit-frame-pointer") if options.tool == "asan" else ()
    cases = [c for c in corpus.cases(corpus.SUITES)
             if (options.all or f"{c.suite}/{c.name}" in SUBSET)
             and fnmatch.fnmatch(f"{c.suite}/{c.name}", options.cases)]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {}
        for build in options.builds.split(","):
            driver = builds.driver(build, extra, "-asan" if extra else "")
            for case in cases:
                if case.wants(build):
                    jobs[pool.submit(check, tool, driver, case, library)] = (build, case)
        for job in concurrent.futures.as_completed(jobs):
            build, case = jobs[job]
            problems, same = job.result()
            passed, failed = passed + (same and not problems), failed + (not same or bool(problems))
            if problems or not same:
                print(f"FAIL {build} {case.suite}/{case.name}"
                      f"{'' if same else ': output differs from stock'}")
                print("\n".join(f"     {line}" for line in problems.splitlines()[:60]))
    print(f"{options.tool}: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
