"""Runs the cases: one line for each."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE / "harness"), str(ROOT / "tests" / "e2e" / "harness"), str(ROOT / "tests" / "differential")]

import chrony
import entries
import filters
import whole
from pki import Pki
from place import Places
from servers import Hosts
from world import World

SUITES = (whole, chrony, filters, entries)


def main(arguments):
    os.umask(0o022)
    sample = "--sample" in arguments
    wanted = [word for word in arguments if not word.startswith("--")]
    with tempfile.TemporaryDirectory(prefix="windlass-guest-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        pki = Pki(folder / "pki")
        world = World(folder, pki, Places(pki, folder / "places"), sample)
        world.hosts = Hosts(pki, folder / "hosts")
        try:
            chosen = [case for suite in SUITES for case in suite.cases(world) if is_wanted(case[0], wanted)]
            if sample and not wanted:
                chosen = [case for case in chosen if world.is_in_sample(case[0])]
            if "--list" in arguments:
                print("\n".join(name for name, _ in chosen))
                return 0
            failed = sum(not passes(name, run) for name, run in chosen)
        finally:
            world.stop()
    print(f"guest: {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


def is_wanted(name, wanted):
    return not wanted or any(word in name for word in wanted)


def passes(name, run):
    begin = time.monotonic()
    fault = None
    try:
        run()
    except Exception as error:  # whatever went wrong is this case's fault, not the end of the run
        fault = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
    print(f"{'FAILED' if fault is not None else 'ok    '} {name} ({time.monotonic() - begin:.2f} s)", flush=True)
    if fault is not None:
        print("       " + (fault[-4000:] or "assertion").replace("\n", "\n       "), flush=True)
    return fault is None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
