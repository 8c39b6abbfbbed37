#!/usr/bin/env python3
"""Names each line of source that is longer than 120 characters, and fails if there is one."""

import subprocess
import sys

LONGEST = 120
SOURCES = ("*.rs", "*.py", "*.rb", "*.c", "*.h", "*.sh", "Makefile")


def main():
    listed = subprocess.run(["git", "ls-files", "-z", "--", *SOURCES], check=True, capture_output=True, text=True)
    found = 0
    for path in filter(None, listed.stdout.split("\0")):
        with open(path, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                length = len(line.rstrip("\n"))
                if length > LONGEST:
                    found += 1
                    print(f"{path}:{number}: {length} characters, at most {LONGEST}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
