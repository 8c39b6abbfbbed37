"""Runs the cases, one line each."""

import argparse
import os
import pathlib
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases
import containers
import prove
import trust
from package import Package
from root import Roots

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", required=True)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    target = pathlib.Path(os.environ["CARGO_TARGET_DIR"])
    with tempfile.TemporaryDirectory(prefix="roots-", dir=target / "packaging") as folder:
        package = Package(ROOT, target)
        wanted = [case for case in all_cases()
                  if not arguments.words or any(word in case.__name__ for word in arguments.words)]
        with Roots(folder, arguments.base) as roots:
            if arguments.prove:
                return prove.prove(package, roots)
            failed = sum(run(case, package, roots) for case in wanted)
        print(f"packaging: {len(wanted) - failed} passed, {failed} failed")
        return 1 if failed or not wanted else 0


def all_cases():
    return cases.ALL + trust.ALL + containers.ALL


def run(case, package, roots, say=print):
    """One case in a root of its own; 1 if it failed."""
    name, start = case.__doc__.splitlines()[0], time.monotonic()
    try:
        with roots.fresh() as root:
            case(root, package)
    except Exception as error:
        detail = str(error) if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
        say(f"FAILED {name} ({time.monotonic() - start:.1f} s)\n       " + detail.replace("\n", "\n       "), flush=True)
        return 1
    say(f"ok     {name} ({time.monotonic() - start:.1f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
