"""The row of a cold start: one HTTPS request in a fresh Python that is held to a part of one core."""

import json
import resource
import time

from attached import package
from measure import Row, alternate, ratio, run
from quota import Quota
from rows import PYTHON
from server import Server


def cold_start(world):
    """Stock, unverified, attached, and attached with a compiled store."""
    program = world.programs / "cold_start.py"
    with Server(world.folder / "cold-server") as server, Quota() as quota:
        # As in a layer: the trust bundle of the function has the content that was compiled, and another identity.
        copy, stores = server.folder / "copy.pem", world.folder / "cold-stores"
        copy.write_bytes(server.bundle.read_bytes())
        run([world.windlass, "compile", "--store", stores, copy])
        copy.unlink()
        copy.write_bytes(server.bundle.read_bytes())
        # Past the time in which a new file is not believed.
        time.sleep(3)
        ours = package(world)

        def start(bundle, *how, env=None):
            return lambda: started(quota.argv(PYTHON, program, server.port, *how), quota.kind,
                                   {"SSL_CERT_FILE": bundle, "WINDLASS_STORE": "", **(env or {})})

        sides = alternate(world.count(12), start(server.bundle), start(server.bundle, "unverified"),
                          start(server.bundle, "attach", env=ours),
                          start(copy, "attach", env={**ours, "WINDLASS_STORE": stores}))
    held = f"held to 7 % of a core (cgroup {quota.kind})" if quota.kind else "in processor time: no cgroup can be made"
    rows = []
    for what, bar, how in (("done", 1.25, f"a GET by http.client from the start of a fresh Python, {held}"),
                           ("made", None, "of this, `http.client.HTTPSConnection(…)` with its context alone")):
        stock, limit, attached, compiled = ([sample[what] for sample in side] for side in sides)
        name = "cold start" if bar else "cold start, HTTPSConnection"
        rows += [Row(name, "ms", stock, limit, attached, ratio(attached, limit), bar,
                     f"{how}: attached / without verification"),
                 Row(f"{name}, compiled", "ms", stock, limit, compiled, ratio(compiled, limit), bar,
                     "the same, from a compiled store whose source is compared by content, as in a layer")]
    return rows


def started(argv, held, env):
    """ms of one start. Processor time, where nothing holds the program: that time is what a quota stretches."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    said = json.loads(run(argv, env))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
    return {"made": said["made"] / 1e6, "done": (said["done"] - begin) / 1e6 if held else used}


ROWS = {"cold-start": cold_start}
