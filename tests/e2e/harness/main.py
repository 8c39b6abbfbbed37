"""Runs the cases: each once stock and once under Windlass, one line per case."""

import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import build
import prove
from cases import Place, World, judge
from pki import Pki
from suites import all_cases
from servers import Hosts, reserve_port
from sides import Side, Windlass

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


def main(arguments):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
    windlass = os.environ.get("WINDLASS") or target / "release" / "windlass"
    with tempfile.TemporaryDirectory(prefix="windlass-e2e-") as folder:
        folder = pathlib.Path(folder)
        built = build.build(HERE / "programs", target / "e2e")
        world = World(Pki(folder / "pki"), None, reserve_port(), Place(folder / "place"), HERE / "programs", built,
                      windlass)
        world.hosts = Hosts(world.pki, folder / "hosts")
        try:
            cases = [case for case in all_cases(world) if is_wanted(case.name, arguments)]
            if "--list" in arguments:
                print("\n".join(case.name for case in cases))
                return 0
            if "--prove" in arguments:
                return prove.prove(cases, world, windlass, folder)
            return run_all(cases, Side(), Windlass(windlass), world)
        finally:
            world.hosts.stop()


def is_wanted(name, arguments):
    wanted = [word for word in arguments if not word.startswith("--")]
    return not wanted or any(word in name for word in wanted)


def run_all(cases, stock, windlass, world):
    failed = 0
    for case in cases:
        faults, seconds = run_case(case, stock, windlass, world)
        failed += bool(faults)
        print(f"{'FAILED' if faults else 'ok    '} {case.name} ({seconds[0]:.2f} s stock, {seconds[1]:.2f} s windlass)",
              flush=True)
        for fault in faults:
            print("       " + fault.replace("\n", "\n       "), flush=True)
    print(f"e2e: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


def run_case(case, stock, windlass, world):
    """The faults, and how long each side took."""
    results, seconds = [], []
    for side in (stock, windlass):
        result, taken = observe(case, side, world)
        if isinstance(result, str):
            return [result], (0.0, 0.0)
        results.append(result)
        seconds.append(taken)
    return judge(case, *results), seconds


def observe(case, side, world):
    """What the side showed, or why it could not be told; and the seconds that took."""
    world.place.fresh()
    begin = time.monotonic()
    try:
        return case.observe(side), time.monotonic() - begin
    except Exception as error:  # whatever went wrong is this case's fault, not the end of the run
        return f"{side.name}: {type(error).__name__}: {error}", 0.0


if __name__ == "__main__":
    # An end by SIGTERM also stops the servers and removes the temporary folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
