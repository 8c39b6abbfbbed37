"""The independent count: opens as strace sees them."""

import collections
import os
import re

# With -y the descriptor carries the path of what was opened, links resolved.
OPENED = re.compile(r"^(\d+) +(?:(?:open|openat|openat2)\(|<\.\.\. (?:open|openat|openat2) resumed>).*\) += \d+<(.*)>$")


def plain(path):
    """strace writes what is not ASCII as octal numbers."""
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), path.encode()))


def command(path):
    return ["strace", "-f", "-y", "-qq", "-s", "4096", "-e", "signal=none", "-e", "trace=open,openat,openat2", "-o",
            path]


def opens(path):
    """Opens by path, and the numbers of all threads that did some."""
    counts, threads = collections.Counter(), set()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = OPENED.match(line.rstrip("\n"))
            # O_PATH names a file and does not open it (open(2)).
            if found and "O_PATH" not in line:
                threads.add(int(found[1]))
                counts[plain(found[2])] += 1
    return counts, threads
