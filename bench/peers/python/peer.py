"""peer.py ssl|truststore|truststore-kept|requests MODE N ROOT LEAF [URL]: Python's ways.

What it prints: bench/peers/README.md.

Python has no call that verifies alone, so a handshake in memory does it, of a TLS 1.3 client and a server.
"""

import json
import re
import ssl
import sys
import time


def make_ssl():
    return ssl.create_default_context()


def make_truststore():
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def use_kept():
    """truststore loads the roots again for each connection, also of a context that is kept."""
    if not SHARED:
        SHARED.append(make_truststore())
    handshake(SHARED[0])


def make_session():
    session = requests.Session()
    session.get(URL).raise_for_status()
    return session


def handshake(context):
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname="localhost")
    server = SERVER.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client, server]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)


def turns(count, make, verify):
    before = time.process_time_ns()
    for _ in range(count):
        made = make()
        if verify:
            verify(made)
        del made
    return (time.process_time_ns() - before) / 1e6 / count


def resident_kib():
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"Rss:\s+(\d+) kB", file.read()).group(1))


KIND, MODE, COUNT, LEAF = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[5]
MAKE = {"ssl": make_ssl, "truststore": make_truststore, "truststore-kept": use_kept, "requests": make_session}[KIND]
VERIFY, SHARED = handshake, []
if KIND.startswith("truststore"):
    import truststore
if KIND == "truststore-kept":
    VERIFY = None
if KIND == "requests":
    import requests

    URL, VERIFY = sys.argv[6], None
SERVER = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
SERVER.load_cert_chain(LEAF, LEAF.removesuffix(".pem") + ".key")
if MODE == "time":
    said = {"first": turns(1, MAKE, None), "next": turns(COUNT, MAKE, None), "verified": turns(COUNT, MAKE, VERIFY)}
    if VERIFY:
        shared = MAKE()
        said["reused"] = turns(COUNT, lambda: shared, VERIFY)
    print(json.dumps(said))
elif MODE == "count":
    turns(COUNT, MAKE, None)
else:
    kept = []
    for turn in range(COUNT + 1):
        kept.append(MAKE())
        if VERIFY:
            VERIFY(kept[-1])
        if turn == 0:
            earlier = resident_kib()
    print(json.dumps({"kib": (resident_kib() - earlier) / COUNT}))
