"""Runs the cases: each once stock and once under Windlass, one line a case. See run.sh."""

import concurrent.futures
import dataclasses
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback
import typing

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE / "harness"), str(ROOT / "tests/e2e/harness")]

import sides
from cases import judge
from certificates import Certificates
from objects import Builder
from servers import Hosts
from sides import Side, Windlass
from suites import all_cases

# No case needs more than a few seconds; one that hangs under a broken library must not hold up the others.
sides.STEP_SECONDS = 120


@dataclasses.dataclass
class World:
    """What the cases have to work with."""

    pki: typing.Any
    hosts: typing.Any
    builder: Builder
    programs: pathlib.Path
    folder: pathlib.Path
    target: pathlib.Path

    def env(self):
        return self.pki.env()


def main(arguments):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    libraries = pathlib.Path(os.environ.get("WINDLASS_TEST_TARGET") or ROOT / "target").resolve()
    windlass = os.environ.get("WINDLASS") or target / "release" / "windlass"
    with tempfile.TemporaryDirectory(prefix="windlass-field-") as folder:
        folder = pathlib.Path(folder)
        world = World(Certificates(folder / "pki"), None, Builder(target, libraries), HERE / "programs", folder, target)
        world.hosts = Hosts(world.pki, folder / "hosts")
        try:
            chosen = [case for case, is_telling in all_cases(world)
                      if is_wanted(case.name, arguments) and (is_telling or "--sample" not in arguments)]
            if "--list" in arguments:
                print("\n".join(case.name for case in chosen))
                return 0
            if "--stock" in arguments:
                return run_all([dataclasses.replace(case, served=None, counts=()) for case in chosen], Side(), Side())
            return run_all(chosen, Side(), Windlass(windlass))
        finally:
            world.hosts.stop()


def is_wanted(name, arguments):
    wanted = [word for word in arguments if not word.startswith("--")]
    return not wanted or any(word in name for word in wanted)


def run_all(cases, stock, windlass):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda case: run_case(case, stock, windlass), cases)
        for case, (faults, seconds) in zip(cases, results):
            failed += bool(faults)
            print(f"{'FAILED' if faults else 'ok    '} {case.name} ({seconds:.2f} s)", flush=True)
            for fault in faults:
                print("       " + fault.replace("\n", "\n       "), flush=True)
    print(f"field: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


def run_case(case, stock, windlass):
    """The faults, and how long it took."""
    begin = time.monotonic()
    try:
        faults = judge(case, case.observe(stock), case.observe(windlass))
    except Exception as error:  # whatever went wrong is this case's fault, not the end of the run
        where = traceback.extract_tb(error.__traceback__)[-1]
        faults = [f"{type(error).__name__}: {error} ({pathlib.Path(where.filename).name}:{where.lineno})"]
    return faults, time.monotonic() - begin


if __name__ == "__main__":
    # An end by SIGTERM also stops the server and removes the temporary folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
