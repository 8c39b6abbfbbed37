"""Attaches in the middle: contexts made before stay with OpenSSL, whatever is done with them; new ones are served."""

import os
import ssl

import windlass
from handshake import accepts, served

names = ("both", "neither", "later", "unused")
before = {name: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for name in names}
before["both"].load_default_certs()
assert accepts(before["both"])
stock = ssl.create_default_context()
count = len(stock.get_ca_certs())
assert windlass.attach() == "attached"

# Made before: not served, and the verdicts of stock.
assert accepts(before["both"]) and not accepts(before["neither"])
before["later"].load_default_certs()
assert served() == 0 and windlass.status().bypassed.get("unknown-store") == 1, windlass.status()
assert accepts(before["later"]) and len(before["later"].get_ca_certs()) == count
before["neither"].load_verify_locations(os.environ["OTHER_BUNDLE"])
assert not accepts(before["neither"]) and len(before["neither"].get_ca_certs()) == count - 1

# Made after: served.
after = ssl.create_default_context()
assert accepts(after) and served() == 1, windlass.status()
assert len(after.get_ca_certs()) == count

# Detached: what was promised is there, what comes is stock.
lazy = ssl.create_default_context()
assert windlass.detach() == "detached" and windlass.status().state == "detached"
assert len(lazy.get_ca_certs()) == count and accepts(lazy) and accepts(after)
last = ssl.create_default_context()
assert accepts(last) and served() == 2

# By now there is ctypes, which could have taken addresses while nobody saw it.
assert windlass.attach() == "attached"
assert accepts(ssl.create_default_context()) and served() == 2
status = windlass.status()
assert status.bypassed["loaded-before"] == 1 and "_ctypes" in status.reason, status
assert {library.kind for library in status.libraries if library.is_from_before} == {"libcrypto", "libssl"}, status
