"""What a Python program sees of a bundle: verdicts.py BUNDLE KEY LEAF…

The leaves' verdicts come from handshakes in memory. What is open and mapped
afterwards is said as well.
"""

import hashlib
import os
import ssl
import sys


def verdict(context, leaf, key):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(leaf, key)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    far = server.wrap_bio(to_server, to_client, server_side=True)
    near = context.wrap_bio(to_client, to_server, server_hostname="good.test")
    for _ in range(4):
        for end in (near, far):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError as error:
                return f"{error.verify_code} {error.verify_message}"
    return "accepted"


bundle, key, *leaves = sys.argv[1:]
for turn in range(2):
    try:
        context = ssl.create_default_context(cafile=bundle)
    except (OSError, ssl.SSLError) as error:
        print(type(error).__name__, error)
        continue
    for leaf in leaves:
        print(os.path.basename(leaf), verdict(context, leaf, key))
    print(context.cert_store_stats())
    for der in context.get_ca_certs(binary_form=True):
        print(hashlib.sha256(der).hexdigest())
with open("/proc/self/maps", encoding="utf-8") as maps:
    print(sum(".store" in line for line in maps), "maps of a store")
print(sorted(os.listdir("/proc/self/fd")))
