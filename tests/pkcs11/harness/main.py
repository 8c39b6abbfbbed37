"""Runs the cases on both sides and compares. See run.sh."""

import argparse
import os
import subprocess
import sys
import tempfile
import traceback

from cases import Cases
from pki import Pki
from place_cases import PlaceCases
from sides import sides

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.path.dirname(HERE), "programs")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--newest", required=True)
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args()
    assert os.path.exists(options.library), (f"{options.library}: build it first (cargo build --release -p "
                                             f"windlass-pkcs11)")
    assert os.path.exists(os.path.join(options.newest, "stamp")), f"{options.newest}: run tests/pkcs11/build.sh first"
    with tempfile.TemporaryDirectory(prefix="windlass-pkcs11-") as folder:
        ours, theirs = sides(options.library, folder, os.path.abspath(options.newest))
        pki = Pki(folder)
        programs = build(folder)
        cases = [*Cases(pki, programs).all(), *PlaceCases(pki, programs).all()]
        return run(cases, ours, theirs, options.wanted)


def build(folder):
    verify = os.path.join(folder, "verify")
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", verify, os.path.join(PROGRAMS, "verify.c"), "-lgnutls"],
                   check=True)
    reused = os.path.join(folder, "reused")
    flags = subprocess.run(["pkg-config", "--cflags", "p11-kit-1"], capture_output=True, text=True,
                           check=True).stdout.split()
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", *flags, "-o", reused, os.path.join(PROGRAMS, "reused.c")],
                   check=True)
    subprocess.run(["javac", "-d", folder, os.path.join(PROGRAMS, "Client.java")], check=True)
    return {"verify": verify, "reused": reused, "java": folder}


def run(cases, ours, theirs, wanted):
    passed = failed = 0
    for name, case in cases:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            stock, found = case(theirs), case(ours)
            assert found == stock, f"p11-kit: {stock}\nwindlass: {found}"
            passed += 1
            print(f"ok      {name}")
        except (AssertionError, subprocess.SubprocessError):
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}")
        sys.stdout.flush()
    print(f"pkcs11: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
