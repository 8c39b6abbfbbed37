"""clients.py KIND stock|attach|shared time|keep N URL: the HTTP clients of tests/python/programs/clients/kinds.py.

time: the us of making each of N clients, and of the same with a request, as JSON. keep: the KiB (PSS)
that each of N more clients adds, which are kept after a request.
"""

import gc
import json
import os
import re
import sys
import time

KIND, SIDE, MODE, COUNT, URL = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5]
if SIDE == "attach":
    import windlass

    assert windlass.attach() == "attached", windlass.status()

from kinds import KINDS

os.environ["ENDPOINT"] = URL
kind = KINDS[KIND]
shared = [kind.shared()] if SIDE == "shared" else []


def client():
    begin = time.perf_counter_ns()
    made = kind.make(*shared)
    middle = time.perf_counter_ns()
    kind.ask(made, URL)
    return made, (middle - begin) / 1000, (time.perf_counter_ns() - begin) / 1000


def pss():
    gc.collect()
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"Pss: +(\d+) kB", file.read())[1])


for _ in range(2):
    kind.close(client()[0])
if MODE == "time":
    samples = {"client": [], "request": []}
    for _ in range(COUNT):
        made, alone, whole = client()
        kind.close(made)
        samples["client"].append(alone)
        samples["request"].append(whole)
    print(json.dumps(samples))
else:
    before = pss()
    kept = [client()[0] for _ in range(COUNT)]
    print(json.dumps((pss() - before) / COUNT))
    # Without the warnings of clients that nobody closed.
    sys.stdout.flush()
    os._exit(0)
