"""GnuTLS' functions, found by dlsym."""

import ctypes
import os

PEM = 1


class Datum(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_uint)]


library = ctypes.CDLL("libgnutls.so.30")
library.gnutls_x509_trust_list_deinit.argtypes = [ctypes.c_void_p, ctypes.c_uint]


def path_of(name):
    return os.environ["FIELD_" + name].encode()


def certificate(name):
    with open(path_of(name), "rb") as file:
        content = file.read()
    cert = ctypes.c_void_p()
    library.gnutls_x509_crt_init(ctypes.byref(cert))
    library.gnutls_x509_crt_import(cert, ctypes.byref(Datum(content, len(content))), PEM)
    return cert


def verify(title, trust, name):
    chain = (ctypes.c_void_p * 2)(certificate(name), certificate("INTERMEDIATE"))
    status = ctypes.c_uint(0x77777777)
    result = library.gnutls_x509_trust_list_verify_crt2(trust, chain, 2, None, 0, 0, ctypes.byref(status), None)
    print(title, result, hex(status.value))


def count(trust):
    iterator, cert, found = ctypes.c_void_p(), ctypes.c_void_p(), 0
    while library.gnutls_x509_trust_list_iter_get_ca(trust, ctypes.byref(iterator), ctypes.byref(cert)) == 0:
        library.gnutls_x509_crt_deinit(cert)
        found += 1
    return found


for how in ("file", "system", "credentials"):
    trust = ctypes.c_void_p()
    if how == "credentials":
        credentials = ctypes.c_void_p()
        library.gnutls_certificate_allocate_credentials(ctypes.byref(credentials))
        print(how, library.gnutls_certificate_set_x509_trust_file(credentials, path_of("BUNDLE"), PEM))
        library.gnutls_certificate_get_trust_list(credentials, ctypes.byref(trust))
    else:
        library.gnutls_x509_trust_list_init(ctypes.byref(trust), 0)
        print(how, library.gnutls_x509_trust_list_add_trust_file(trust, path_of("BUNDLE"), None, PEM, 0, 0)
              if how == "file"
              else library.gnutls_x509_trust_list_add_system_trust(trust, 0, 0))
    verify("good", trust, "CHAIN")
    verify("untrusted", trust, "UNTRUSTED")
    print("add", library.gnutls_x509_trust_list_add_cas(trust, ctypes.byref(certificate("TWIN")), 1, 0))
    verify("good again", trust, "CHAIN")
    print("certificates", count(trust))
