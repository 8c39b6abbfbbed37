"""ffi.py HOW: OpenSSL's functions, found by dlsym. HOW is `CDLL path`, `CDLL None`, `PyDLL`, or `cffi`; also for
PyPy."""

import os
import sys

FUNCTIONS = {
    "TLS_client_method": "p", "SSL_CTX_new": "pp", "SSL_CTX_load_verify_locations": "ipss",
    "SSL_CTX_set_default_verify_paths": "ip",
    "SSL_CTX_get_cert_store": "pp", "SSL_CTX_free": "vp", "SSL_load_client_CA_file": "ps", "BIO_new_file": "pss",
    "PEM_read_bio_X509": "ppppp", "X509_STORE_new": "p", "X509_STORE_free": "vp", "X509_STORE_load_locations": "ipss",
    "X509_STORE_add_cert": "ipp", "X509_STORE_get1_all_certs": "pp", "X509_STORE_CTX_new": "p",
    "X509_STORE_CTX_init": "ipppp", "X509_STORE_CTX_free": "vp", "X509_verify_cert": "ip",
    "X509_STORE_CTX_get_error": "ip", "OPENSSL_sk_num": "ip",
    "OPENSSL_sk_new_null": "p", "OPENSSL_sk_push": "ipp",
}


def by_ctypes(how):
    import ctypes
    if how == "CDLL None":
        ctypes.CDLL("libssl.so.3", ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(None)
    else:
        library = (ctypes.PyDLL if how == "PyDLL" else ctypes.CDLL)("libssl.so.3")
    types = {"p": ctypes.c_void_p, "s": ctypes.c_char_p, "i": ctypes.c_int, "v": None}
    found = {}
    for name, signature in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = types[signature[0]], [types[letter] for letter in signature[1:]]
        found[name] = function
    return found, None


def by_cffi(_how):
    import cffi
    ffi = cffi.FFI()
    types = {"p": "void *", "s": "const char *", "i": "int", "v": "void"}
    for name, signature in FUNCTIONS.items():
        ffi.cdef(f"{types[signature[0]]} {name}({', '.join(types[letter] for letter in signature[1:]) or 'void'});")
    library = ffi.dlopen("libssl.so.3")
    return {name: getattr(library, name) for name in FUNCTIONS}, ffi.NULL


def path_of(name):
    return os.environ["FIELD_" + name].encode()


class Script:
    def __init__(self, functions, null):
        self.f, self.null = functions, null

    def __getattr__(self, name):
        return self.f[name]

    def certificate(self, name):
        return self.PEM_read_bio_X509(self.BIO_new_file(path_of(name), b"r"), self.null, self.null, self.null)

    def verify(self, title, store, name):
        untrusted, ctx = self.OPENSSL_sk_new_null(), self.X509_STORE_CTX_new()
        self.OPENSSL_sk_push(untrusted, self.certificate("INTERMEDIATE"))
        begun = self.X509_STORE_CTX_init(ctx, store, self.certificate(name), untrusted)
        print(title, begun, self.X509_verify_cert(ctx), self.X509_STORE_CTX_get_error(ctx))
        self.X509_STORE_CTX_free(ctx)

    def use(self, title, store, enumerate_first):
        print(title)
        if enumerate_first:
            print("certificates", self.OPENSSL_sk_num(self.X509_STORE_get1_all_certs(store)))
        self.verify("good", store, "CHAIN")
        self.verify("untrusted", store, "UNTRUSTED")
        print("add", self.X509_STORE_add_cert(store, self.certificate("TWIN")))
        self.verify("good again", store, "CHAIN")
        print("certificates", self.OPENSSL_sk_num(self.X509_STORE_get1_all_certs(store)))

    def run(self):
        for turn in (0, 1):
            for defaults in (0, 1):
                ctx = self.SSL_CTX_new(self.TLS_client_method())
                loaded = self.SSL_CTX_set_default_verify_paths(ctx) if defaults \
                    else self.SSL_CTX_load_verify_locations(ctx, path_of("BUNDLE"), self.null)
                self.use(f"context {loaded}", self.SSL_CTX_get_cert_store(ctx), turn)
                self.SSL_CTX_free(ctx)
            store = self.X509_STORE_new()
            # The shadow: a certificate of the root's name, before the load.
            print("add", self.X509_STORE_add_cert(store, self.certificate("TWIN")) if turn else "nothing")
            self.use(f"store {self.X509_STORE_load_locations(store, path_of('BUNDLE'), self.null)}", store, 0)
            self.X509_STORE_free(store)
        print("names", self.OPENSSL_sk_num(self.SSL_load_client_CA_file(path_of("BUNDLE"))))


if __name__ == "__main__":
    Script(*(by_cffi if sys.argv[1] == "cffi" else by_ctypes)(sys.argv[1])).run()
