#!/usr/bin/env python3
"""libwindlass_trace.so: what it records, against an independent count; and what a program can see of it, which has to
be nothing.

    library.py --library target/release/libwindlass_trace.so
    library.py --library L --only counts     cases whose name contains one of these, separated by commas
    library.py --library L --sample 1        every script of the differential tests (a thirtieth is the default)
"""

import argparse
import pathlib
import sys
import tempfile
import traceback

import library_counts
import library_differential
import library_guest
import library_strange
from library_world import World


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", type=int, default=30, metavar="N")
    options = parser.parse_args()
    if not options.library.is_file():
        parser.error(f"no library {options.library}: build it with cargo build --release -p windlass-trace")
    wanted = options.only.split(",")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="windlass-trace-") as folder, World(pathlib.Path(folder),
                                                                                options.library.resolve()) as world:
        cases = [*library_counts.cases(world), *library_guest.cases(world), *library_strange.cases(world)]
        for name, case in cases:
            if not any(word in name for word in wanted):
                continue
            try:
                case()
                passed += 1
                print(f"ok      {name}", flush=True)
            except Exception:  # one case that can't even run must not hide the others
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
        if any(word in "differential" for word in wanted):
            found, count = library_differential.differences(world.library, options.sample)
            for what, why in found:
                print(f"FAILED  differential {what}\n{why}")
            passed, failed = passed + count - len(found), failed + len(found)
            print(f"ok      differential: {count - len(found)} scripts")
    print(f"trace-library: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
