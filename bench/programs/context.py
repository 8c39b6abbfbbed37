"""context.py N [attach]: the whole life of a verifying and of an unverified context, alternating, in ns, as JSON."""

import gc
import json
import ssl
import sys
import time


def life(make):
    begin = time.perf_counter_ns()
    context = make()
    del context
    return time.perf_counter_ns() - begin


def unverified():
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


if sys.argv[2:] == ["attach"]:
    import windlass

    assert windlass.attach() == "attached", windlass.status()
samples = {"verifying": [], "unverified": []}
for make in (ssl.create_default_context, unverified):
    life(make)
gc.disable()
for _ in range(int(sys.argv[1])):
    samples["verifying"].append(life(ssl.create_default_context))
    samples["unverified"].append(life(unverified))
json.dump(samples, sys.stdout)
