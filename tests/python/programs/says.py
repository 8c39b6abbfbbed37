"""says.py RESULT [WORD ...]: attach() returns RESULT, status().reason has these words, and ssl works as it did."""

import sys

import windlass

result = windlass.attach()
status = windlass.status()
assert result == sys.argv[1], (result, status)
assert result in ("attached", "already") or status.state == result, status
assert all(word in (status.reason or "") for word in sys.argv[2:]), status

import ssl

from handshake import accepts

assert accepts(ssl.create_default_context())
assert not accepts(ssl.create_default_context(), "other.example")
