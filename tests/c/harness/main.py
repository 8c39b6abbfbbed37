"""Runs the cases. See run.sh."""

import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parents[1] / "differential"), str(HERE.parents[1] / "e2e/harness")]

import suites  # noqa: E402
from context import Context  # noqa: E402


def main():
    wanted = sys.argv[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="windlass-c-") as folder:
        # The programs of other users read it.
        os.chmod(folder, 0o755)
        context = Context(pathlib.Path(folder))
        for name, case in suites.CASES:
            if wanted and not any(word in name for word in wanted):
                continue
            try:
                note = case(context)
                passed += 1
                print(f"ok      {name}{f' ({note})' if note else ''}")
            except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError):
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}")
            sys.stdout.flush()
    print(f"c: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
