"""oscrypto_client.py cffi|ctypes PORT…: Debian's oscrypto, which finds OpenSSL's functions by dlsym."""

import os
import sys

import oscrypto

if sys.argv[1] == "ctypes":
    oscrypto.use_ctypes()
from oscrypto import asymmetric, errors, tls, trust_list  # noqa: E402: what it uses is chosen when it is imported

print(sys.argv[1], len(trust_list.get_list()))
for port in sys.argv[2:]:
    # The machine's roots; and with a root of the program's own: the right one, and another of the same name.
    with open(os.environ["FIELD_TWIN"], "rb") as file:
        twin = file.read().split(b"-----END")[0] + b"-----END CERTIFICATE-----\n"
    for extra in (None, os.environ["FIELD_ROOT"], twin):
        session = tls.TLSSession(extra_trust_roots=[asymmetric.load_certificate(extra)] if extra else None)
        try:
            connection = tls.TLSSocket("localhost", int(port), session=session)
            connection.write(b"GET / HTTP/1.0\r\n\r\n")
            print("good", connection.read_line())
            connection.close()
        except errors.TLSError as error:
            print("refused", type(error).__name__, error)
