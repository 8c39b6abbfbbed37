"""Runs the cases. See run.sh."""

import argparse
import os
import subprocess
import sys
import tempfile
import traceback

import build
import measure
from context import Context
from suites import http, manual, metrics, programs, prometheus, sources, terminal, unprivileged

SUITES = (programs, sources, unprivileged, terminal, manual, metrics, http, prometheus)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--windlass", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--measure-metrics", action="store_true")
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args()
    for path in (options.windlass, options.library):
        assert os.path.exists(path), f"{path}: build it first (make build)"
    if os.geteuid() != 0:
        sys.exit("tests/top needs root: fanotify(7) does")
    with tempfile.TemporaryDirectory(prefix="windlass-top-") as folder:
        os.chmod(folder, 0o755)
        context = Context(os.path.abspath(options.windlass), os.path.abspath(options.library), folder,
                          build.Programs(folder))
        if options.measure:
            measure.report(context)
            return 0
        if options.measure_metrics:
            measure.report_metrics(context)
            return 0
        return run(context, options.wanted)


def run(context, wanted):
    passed = failed = 0
    for suite in SUITES:
        for name, case in suite.cases(context):
            if wanted and not any(word in name for word in wanted):
                continue
            try:
                case(context)
                passed += 1
                print(f"ok      {name}")
            except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError):
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}")
            sys.stdout.flush()
    print(f"top: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
