"""Runs the cases. See run.sh."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import traceback

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python" / "harness"))

import pki
import suites
from ruby import Ruby


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gems", required=True, type=pathlib.Path)
    parser.add_argument("--library", required=True, type=pathlib.Path)
    parser.add_argument("--ruby", action="append", type=pathlib.Path)
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="windlass-ruby-") as folder:
        folder = pathlib.Path(folder)
        # The programs of other users read it.
        folder.chmod(0o755)
        authority = pki.Authority(folder / "pki")
        for interpreter in options.ruby or [pathlib.Path("/usr/bin/ruby")]:
            ruby = Ruby(interpreter, next(options.gems.resolve().glob("windlass-*.gem")), options.library.resolve(),
                        folder, authority)
            for name, case in suites.CASES:
                if options.wanted and not any(word in name for word in options.wanted):
                    continue
                try:
                    note = case(ruby)
                    passed += 1
                    print(f"ok      {ruby.version}: {name}{f' ({note})' if note else ''}")
                except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError):
                    failed += 1
                    print(f"FAILED  {ruby.version}: {name}\n{traceback.format_exc()}")
                sys.stdout.flush()
    print(f"ruby: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
