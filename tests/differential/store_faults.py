#!/usr/bin/env python3
"""What can go wrong with compiled stores, done to real programs: whatever it is, they show the stock result.

    store_faults.py --library L [--windlass W] [--only damage,owners,...]

Needs root: files of other users, mounts, set-user-ID programs. Nothing is
mounted outside of namespaces of its own.
"""

import argparse
import os
import pathlib
import sys

import builds
from faults import damage, disk, guest, mounts, owners, races
from faults.lab import Lab
from generate.forge import Signer
from generate.pki import Pki
from programs import Results

GROUPS = {"damage": damage, "owners": owners, "races": races, "disk": disk, "mounts": mounts, "guest": guest}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--windlass", type=pathlib.Path, help="default: beside the library")
    parser.add_argument("--only", default=",".join(GROUPS))
    options = parser.parse_args()
    results = Results()
    if os.geteuid() != 0:
        results.check("faults of compiled stores (needs root: run `sudo make test-compiled`)", False)
        return 1
    builds.WORK.mkdir(parents=True, exist_ok=True)
    signer = Signer(str(builds.signer()))
    library = options.library.resolve(strict=True)
    windlass = (options.windlass or library.with_name("windlass")).resolve(strict=True)
    lab = Lab(library, windlass, Pki(signer), results)
    try:
        for group in options.only.split(","):
            GROUPS[group].run(lab)
    finally:
        lab.close()
        signer.close()
    print(f"store faults: {results.passed} passed, {results.failed} failed")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
