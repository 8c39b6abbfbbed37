"""Opens, reads and closes a file for each line of its input, and says so. Without TLS."""

import sys

for line in sys.stdin:
    with open(line.rstrip("\n"), "rb") as file:
        file.read()
    print("read", flush=True)
