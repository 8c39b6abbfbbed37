#!/usr/bin/env python3
"""Shortens the script of a differing case to the lines the difference needs.

    reduce.py --library L --build system --suite loads --case pair-003
"""

import argparse
import pathlib
import sys

import builds
import corpus
import run


def command_of(lines, pair):
    number = (pair[0] or pair[1])[0].split(" ", 1)[0]
    return lines[int(number) - 1].split()[0] if number.isdigit() else None


def differs(case, lines, options):
    case.script = ("\n".join(lines) + "\n").encode()
    stock = run.run_driver(options.build, case, "stock", None, {})
    other = run.run_driver(options.build, case, "preload", options.library, {})
    # A script that the driver refuses (exit 3) is no reproduction.
    if stock[-1] != "exit 0":
        return None
    pairs = run.differences(stock, other)
    if options.command:
        pairs = [p for p in pairs if command_of(lines, p) == options.command]
    return pairs


def shorten(case, lines, options):
    """Removes ever smaller runs of lines as long as a difference remains."""
    size = max(1, len(lines) // 2)
    while True:
        at, removed = 0, False
        while at < len(lines):
            fewer = lines[:at] + lines[at + size :]
            if differs(case, fewer, options):
                lines, removed = fewer, True
            else:
                at += size
        if size == 1 and not removed:
            return lines
        size = max(1, size // 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--build", default="system", choices=builds.BUILDS)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--command", help="only differences of this command, such as verify")
    options = parser.parse_args()
    options.library = options.library.resolve()
    found = [c for c in corpus.cases([options.suite]) if c.name == options.case]
    if not found:
        parser.error(f"no case {options.case} in {options.suite}")
    case = found[0]
    lines = (case.folder / "script").read_text().splitlines()
    if not differs(case, lines, options):
        print("no difference")
        return 1
    lines = shorten(case, lines, options)
    print(f"# in {found[0].folder}\n" + "\n".join(lines))
    for stock, other in differs(case, lines, options):
        print("\n".join(["stock:", *stock, "now:", *other]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
