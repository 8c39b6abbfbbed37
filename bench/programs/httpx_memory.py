"""httpx_memory.py N verify|unverified|attach [URL]: KiB of a process that keeps N httpx clients, as JSON; with a URL,
each has done a GET.
"""

import json
import re
import sys

if sys.argv[2] == "attach":
    import windlass

    assert windlass.attach() == "attached", windlass.status()

import httpx

kept = [httpx.Client(verify=sys.argv[2] != "unverified") for _ in range(int(sys.argv[1]))]
for url in sys.argv[3:]:
    for client in kept:
        client.get(url).raise_for_status()
with open("/proc/self/smaps_rollup", encoding="ascii") as file:
    kib = {key: int(value) for key, value in re.findall(r"(\w+): +(\d+) kB", file.read())}
print(json.dumps({"pss": kib["Pss"], "uss": kib["Private_Clean"] + kib["Private_Dirty"]}))
