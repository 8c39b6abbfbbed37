"""A long-running Python program: for each line of its input it makes a context of the bundle and says what that
trusts."""

import hashlib
import ssl
import sys

for _ in sys.stdin:
    context = ssl.create_default_context(cafile=sys.argv[1])
    trusted = [hashlib.sha256(der).hexdigest()[:10] for der in context.get_ca_certs(binary_form=True)]
    print(context.cert_store_stats(), *trusted, flush=True)
