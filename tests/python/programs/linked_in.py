"""OpenSSL is linked statically into the ssl module, or the interpreter: attach() can't reach it, and status() says so.

The rest of what such a program does is in shared.py.
"""

import json
import os
import ssl
import subprocess
import sys

import _ssl
import windlass
from handshake import accepts

assert windlass.attach() == "attached"
assert accepts(ssl.create_default_context()) and not accepts(ssl.create_default_context(), "other.example")
status = windlass.status()
assert status.served == {} and status.bypassed == {}, status
file = getattr(_ssl, "__file__", sys.executable)
assert f"linked statically into {file}," in status.reason and "shared_context" in status.reason, status
assert "libssl" not in {library.kind for library in status.libraries}, status
said = json.loads(subprocess.run([sys.executable, "-m", "windlass", "doctor", "--json"], check=True,
                                 stdout=subprocess.PIPE, env=os.environ).stdout)
row = next(row for row in said["modules"] if row["module"] == "ssl")
assert not row["reached"] and "linked statically" in row["why_not"], said
context = windlass.shared_context()
assert accepts(context) and not accepts(context, "other.example")
