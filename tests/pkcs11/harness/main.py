"""Runs the cases on both sides and compares. See run.sh."""

import argparse
import os
import subprocess
import sys
import tempfile
import traceback

import measure
from cases import Cases
from pki import Pki
from sides import sides

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.path.dirname(HERE), "programs")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args()
    assert os.path.exists(options.library), f"{options.library}: build it first (cargo build --release -p windlass-pkcs11)"
    with tempfile.TemporaryDirectory(prefix="windlass-pkcs11-") as folder:
        ours, theirs = sides(options.library, folder)
        pki = Pki(folder)
        programs = build(folder)
        if options.measure:
            measure.report(ours, theirs, pki, programs)
            return 0
        return run(Cases(pki, programs), ours, theirs, options.wanted)


def build(folder):
    verify = os.path.join(folder, "verify")
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", verify, os.path.join(PROGRAMS, "verify.c"), "-lgnutls"], check=True)
    subprocess.run(["javac", "-d", folder, os.path.join(PROGRAMS, "Client.java")], check=True)
    return {"verify": verify, "java": folder}


def run(cases, ours, theirs, wanted):
    passed = failed = 0
    for name, case in cases.all():
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
