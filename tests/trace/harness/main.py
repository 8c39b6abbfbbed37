"""Runs the cases of `windlass trace`, one line each."""

import os
import pathlib
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent.parent
sys.path[:0] = [str(HERE), str(TESTS / "e2e" / "harness")]

import examples  # noqa: E402
import page  # noqa: E402
import programs  # noqa: E402
import reach  # noqa: E402
import runs  # noqa: E402
from pki import Pki  # noqa: E402
from servers import Hosts  # noqa: E402
from tracer import World  # noqa: E402


def main(arguments):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or TESTS.parent / "target").resolve()
    windlass = pathlib.Path(os.environ.get("WINDLASS") or target / "release" / "windlass").resolve()
    with tempfile.TemporaryDirectory(prefix="windlass-trace-tests-") as folder:
        folder = pathlib.Path(folder)
        pki = Pki(folder / "pki")
        hosts = Hosts(pki, folder / "hosts")
        try:
            world = World(windlass, folder, pki, hosts, TESTS / "e2e" / "programs", target / "e2e")
            if "--pictures" in arguments:
                page.pictures(world, pathlib.Path(arguments[arguments.index("--pictures") + 1]))
                return 0
            cases = [case for suite in (programs, reach, runs, page, examples) for case in suite.cases(world)]
            if "--list" in arguments:
                print("\n".join(name for name, _ in cases))
                return 0
            return run_all([case for case in cases if not arguments or any(word in case[0] for word in arguments)])
        finally:
            hosts.stop()


def run_all(cases):
    failed = 0
    for name, case in cases:
        begin = time.monotonic()
        try:
            case()
            fault = ""
        except Exception as error:  # whatever went wrong is this case's fault, not the end of the run
            fault = f"{type(error).__name__}: {error}"
        failed += bool(fault)
        print(f"{'FAILED' if fault else 'ok    '} {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        if fault:
            print("       " + fault.replace("\n", "\n       "), flush=True)
    print(f"trace: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
