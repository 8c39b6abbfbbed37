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
import other_programs
import prove
import services
import token_module
import trust
import units
from machine import Refused
from package import Package
from root import Roots

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", required=True)
    parser.add_argument("--bootable", required=True)
    parser.add_argument("--trust", required=True)
    parser.add_argument("--others", required=True)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    target = pathlib.Path(os.environ["CARGO_TARGET_DIR"])
    with tempfile.TemporaryDirectory(prefix="roots-", dir=target / "packaging") as folder:
        package = Package(ROOT, target)
        wanted = [case for case in all_cases() if arguments.others or case not in other_programs.ALL
                  if not arguments.words or any(word in case.__name__ for word in arguments.words)]
        with Roots(folder, {"base": arguments.base, "bootable": arguments.bootable, "trust": arguments.trust,
                            "others": arguments.others}) as roots:
            if arguments.prove:
                return prove.prove(package, roots)
            ends = [run(case, package, roots) for case in wanted]
        failed, skipped = ends.count("failed"), ends.count("skipped")
        print(f"packaging: {ends.count('passed')} passed, {failed} failed"
              + (f", {skipped} skipped" if skipped else ""))
        return 1 if failed or not wanted else 0


def all_cases():
    return cases.ALL + trust.ALL + token_module.ALL + other_programs.ALL + containers.ALL + units.ALL + services.ALL


def run(case, package, roots, say=print):
    """One case in a root of its own. Says how it ended: "passed", "failed" or "skipped"."""
    name, start = case.__doc__.splitlines()[0], time.monotonic()
    try:
        with roots.fresh(getattr(case, "variant", "base")) as root:
            case(root, package)
    except Refused as refused:
        say(f"SKIPPED {name}\n       systemd can't be process 1 of a container here. Refused was: {refused}",
            flush=True)
        return "skipped"
    except Exception as error:
        detail = str(error) if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
        say(f"FAILED {name} ({time.monotonic() - start:.1f} s)\n       " + detail.replace("\n", "\n       "),
            flush=True)
        return "failed"
    say(f"ok     {name} ({time.monotonic() - start:.1f} s)", flush=True)
    return "passed"


if __name__ == "__main__":
    sys.exit(main())
