"""requests_get.py N URL BUNDLE [attach]: the time of a GET with a fresh Session, and of one with a fresh Session that
is given one context for all, alternating, in ns, as JSON. Each has a connection of its own. "bare" is as the second,
but makes a context besides, as urllib3 does for a fresh Session, which loads nothing and is not used.
"""

import gc
import json
import ssl
import sys
import time

if sys.argv[4:] == ["attach"]:
    import windlass

    assert windlass.attach() == "attached", windlass.status()

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import create_urllib3_context

COUNT, URL, BUNDLE = int(sys.argv[1]), sys.argv[2], sys.argv[3]
CONTEXT = ssl.create_default_context(cafile=BUNDLE)


class Sharing(HTTPAdapter):
    def init_poolmanager(self, *arguments, **named):
        super().init_poolmanager(*arguments, ssl_context=CONTEXT, **named)

    def cert_verify(self, conn, url, verify, cert):
        """Not what it does else: it would load the bundle into the shared context for each connection."""
        conn.cert_reqs = "CERT_REQUIRED"


class Bare(Sharing):
    def init_poolmanager(self, *arguments, **named):
        self.bare = create_urllib3_context()
        super().init_poolmanager(*arguments, **named)


def get(adapter=None):
    begin = time.perf_counter_ns()
    with requests.Session() as session:
        if adapter:
            session.mount("https://", adapter())
        else:
            session.verify = BUNDLE
        session.get(URL).raise_for_status()
    return time.perf_counter_ns() - begin


SIDES = {"fresh": None, "shared": Sharing, "bare": Bare}
samples = {name: [] for name in SIDES}
for adapter in SIDES.values():
    get(adapter)
gc.disable()
for turn in range(COUNT):
    for name, adapter in SIDES.items():
        samples[name].append(get(adapter))
    if turn % 50 == 49:
        gc.collect()
json.dump(samples, sys.stdout)
