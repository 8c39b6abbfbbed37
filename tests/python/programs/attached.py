"""Attaches before ssl is imported: contexts are served and reach the stock verdicts."""

import sys

import windlass

assert windlass.attach() == "attached", windlass.status()
assert "ssl" not in sys.modules
# Other implementations import ctypes at their start, or need it.
assert "ctypes" not in sys.modules or sys.implementation.name != "cpython", "importing it takes longer than attaching"
assert windlass.attach() == "already"

import ssl

from handshake import accepts, served

assert accepts(ssl.create_default_context()) and served() == 1, windlass.status()
assert not accepts(ssl.create_default_context(), "other.example")
other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
other.load_verify_locations(__import__("os").environ["OTHER_BUNDLE"])
assert not accepts(other)
status = windlass.status()
assert status.state == "attached" and status.reason is None and status.version == windlass.__version__, status
assert {library.kind for library in status.libraries} >= {"libcrypto", "libssl"}, status
assert not any(library.is_hidden for library in status.libraries), status
assert status.bypassed == {}, status
