"""Runs the cases. See run.sh."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import clients
import hostile
import layer
import linked_in
import own_tests
import pages
import pki
import servers
import suites
from context import Context


EVERYWHERE = suites.CASES + linked_in.CASES + hostile.CASES + servers.CASES
INSIDE = [case for case in suites.CASES if "damaged" in case[0]] + linked_in.INSIDE


def cases(context, with_own_tests):
    """The cases for an interpreter."""
    if context.is_linked_in:
        return INSIDE
    # The clients are wheels for the machine's own interpreter.
    own = clients.CASES + pages.CASES + layer.CASES + own_tests.SAMPLE
    return EVERYWHERE + (own_tests.CASES if with_own_tests else own)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheels", required=True, type=pathlib.Path)
    parser.add_argument("--library", required=True, type=pathlib.Path)
    parser.add_argument("--pythons", required=True, type=pathlib.Path, help="what build.sh has built")
    parser.add_argument("--own-tests", action="store_true", help="all of CPython's own tests, not a sample")
    parser.add_argument("--python", action="append", type=pathlib.Path)
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="windlass-python-") as folder:
        folder = pathlib.Path(folder)
        # The programs of other users read it.
        folder.chmod(0o755)
        authority = pki.Authority(folder / "pki")
        for python in options.python or [pathlib.Path("/usr/bin/python3")]:
            context = Context(python, options.wheels.resolve(), options.library.resolve(), options.pythons.resolve(),
                              folder, authority)
            for name, case in cases(context, options.own_tests):
                if options.wanted and not any(word in name for word in options.wanted):
                    continue
                try:
                    note = case(context)
                    passed += 1
                    print(f"ok      {context.version}: {name}{f' ({note})' if note else ''}")
                except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError):
                    failed += 1
                    print(f"FAILED  {context.version}: {name}\n{traceback.format_exc()}")
                sys.stdout.flush()
    print(f"python: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
