"""beside.py RESULT ...: attaches beside something hostile, with one of these results; verdicts are those of stock."""

import ssl
import sys

import windlass
from handshake import accepts

result = windlass.attach()
status = windlass.status()
assert result in sys.argv[1:], (result, status)
for _ in range(3):
    context = ssl.create_default_context()
    assert accepts(context) and not accepts(context, "other.example") and len(context.get_ca_certs()) > 100
status = windlass.status()
print(result, sum(status.served.values()), sum(status.bypassed.values()), status.reason, sep="; ")
assert windlass.detach() in ("detached", "failed")
