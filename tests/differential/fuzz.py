#!/usr/bin/env python3
"""Mutated sources without end: each round makes a thousand new files, loads
them on every OpenSSL build with and without the library, and compares.

    fuzz.py --library L [--seed 1] [--rounds 10] [--builds system,4.0.3]

A file that shows a difference is kept under target/differential/fuzz/.
"""

import argparse
import pathlib
import random
import shutil
import sys

import builds
import corpus
import run
from generate import mutants
from generate.der import pem
from generate.forge import Signer
from generate.pki import Pki


def make_round(pki, seed, folder):
    r = random.Random(f"fuzz {seed}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "all.pem").write_bytes(pki.pem(*pki.order))
    (folder / "crls.pem").write_bytes(b"")
    lines = pki.start()
    for n in range(1000):
        path = f"file-{n:03}.pem"
        if n % 2:
            content = mutants.text_mutant(r, pki.pem("r1", "leaf0"))
        else:
            der = mutants.der_mutant(r, pki.der[r.choice(pki.order)])
            content = pki.pem("r2") + pem("CERTIFICATE", der).encode()
        (folder / path).write_bytes(content)
        lines += mutants.script(path, older=n % 3 == 0)
    (folder / "script").write_text("\n".join(lines) + "\n")
    return corpus.Case("fuzz", f"seed-{seed}", folder, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--builds", default=",".join(builds.BUILDS))
    options = parser.parse_args()
    options.library, options.env = options.library.resolve(), {}
    options.sabotage = options.stores = None
    signer = Signer(str(builds.signer()))
    pki = Pki(signer)
    passed = failed = 0
    for seed in range(options.seed, options.seed + options.rounds):
        case = make_round(pki, seed, builds.WORK / "fuzz" / f"seed-{seed}")
        different = False
        for build in options.builds.split(","):
            *_, found = run.one_case(build, case, options, ["preload"])
            for mode, pairs in found:
                run.show(build, case, mode, pairs)
            passed, failed = passed + (not found), failed + bool(found)
            different |= bool(found)
        if not different:
            shutil.rmtree(case.folder)
    signer.close()
    print(f"fuzz: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
