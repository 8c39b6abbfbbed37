"""Threads make contexts and connections while another attaches and detaches: every verdict is the stock one."""

import os
import ssl
import sys
import threading
import time

import windlass
from handshake import accepts

COUNT = len(ssl.create_default_context().get_ca_certs())
stop = threading.Event()
wrong, made = [], []


def work(number):
    kept = ssl.create_default_context()
    while not stop.is_set():
        fresh = ssl.create_default_context()
        if number % 2 and len(fresh.get_ca_certs()) != COUNT:
            wrong.append("certificates")
        other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        other.load_verify_locations(os.environ["OTHER_BUNDLE"])
        if not accepts(fresh) or not accepts(kept) or accepts(other) or accepts(fresh, "other.example"):
            wrong.append("verdict")
        made.append(number)


threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
[thread.start() for thread in threads]
end = time.monotonic() + float(sys.argv[1])
results = set()
while time.monotonic() < end:
    results.add(windlass.attach())
    time.sleep(0.002)
    results.add(windlass.detach())
stop.set()
[thread.join() for thread in threads]
assert not wrong, set(wrong)
assert results == {"attached", "detached"} and made, results
