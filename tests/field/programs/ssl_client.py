"""ssl_client.py CAFILE PORT…: the ssl module, before and after another module has found OpenSSL's functions by
dlsym."""

import socket
import ssl
import sys


def ask(title, bundle, port):
    context = ssl.create_default_context(cafile=bundle)
    try:
        with socket.create_connection(("localhost", port)) as plain, \
             context.wrap_socket(plain, server_hostname="localhost") as stream:
            stream.sendall(b"GET / HTTP/1.0\r\n\r\n")
            print(title, "good", stream.recv(15), len(context.get_ca_certs()))
    except ssl.SSLCertVerificationError as error:
        print(title, "refused", error.verify_code, len(context.get_ca_certs()))


for port in map(int, sys.argv[2:]):
    ask("before", sys.argv[1], port)
import cffi  # noqa: E402: it comes late on purpose

ffi = cffi.FFI()
ffi.cdef("void *X509_STORE_new(void); int X509_STORE_load_locations(void *, const char *, const char *); void "
         "X509_STORE_free(void *);")
library = ffi.dlopen("libcrypto.so.3")
store = library.X509_STORE_new()
print("by cffi:", library.X509_STORE_load_locations(store, sys.argv[1].encode(), ffi.NULL))
library.X509_STORE_free(store)
for port in map(int, sys.argv[2:]):
    ask("after", sys.argv[1], port)
