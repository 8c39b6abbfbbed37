-- ffi.lua load|C: OpenSSL's functions by LuaJIT's FFI, of a library that it loads or of the global scope.
local ffi = require("ffi")
ffi.cdef [[
void *TLS_client_method(void); void *SSL_CTX_new(void *); int SSL_CTX_load_verify_locations(void *, const char *, const char *);
int SSL_CTX_set_default_verify_paths(void *); void *SSL_CTX_get_cert_store(void *); void SSL_CTX_free(void *);
void *SSL_load_client_CA_file(const char *); void *BIO_new_file(const char *, const char *);
void *PEM_read_bio_X509(void *, void *, void *, void *); void *X509_STORE_new(void); void X509_STORE_free(void *);
int X509_STORE_load_locations(void *, const char *, const char *); int X509_STORE_add_cert(void *, void *);
void *X509_STORE_get1_all_certs(void *); void *X509_STORE_CTX_new(void); int X509_STORE_CTX_init(void *, void *, void *, void *);
int X509_verify_cert(void *); int X509_STORE_CTX_get_error(void *); int OPENSSL_sk_num(void *); void *OPENSSL_sk_new_null(void);
int OPENSSL_sk_push(void *, void *);
]]
local loaded = ffi.load("libssl.so.3", arg[1] == "C")
local f = arg[1] == "C" and ffi.C or loaded

local function path_of(name) return os.getenv("FIELD_" .. name) end
local function certificate(name) return f.PEM_read_bio_X509(f.BIO_new_file(path_of(name), "r"), nil, nil, nil) end
local function verify(title, store, name)
    local untrusted, ctx = f.OPENSSL_sk_new_null(), f.X509_STORE_CTX_new()
    f.OPENSSL_sk_push(untrusted, certificate("INTERMEDIATE"))
    local begun = f.X509_STORE_CTX_init(ctx, store, certificate(name), untrusted)
    print(title, begun, f.X509_verify_cert(ctx), f.X509_STORE_CTX_get_error(ctx))
end
local function use(store)
    verify("good", store, "CHAIN")
    verify("untrusted", store, "UNTRUSTED")
    print("add", f.X509_STORE_add_cert(store, certificate("TWIN")))
    verify("good again", store, "CHAIN")
    print("certificates", f.OPENSSL_sk_num(f.X509_STORE_get1_all_certs(store)))
end

for turn = 0, 1 do
    local ctx = f.SSL_CTX_new(f.TLS_client_method())
    print("context", turn == 0 and f.SSL_CTX_set_default_verify_paths(ctx) or f.SSL_CTX_load_verify_locations(ctx, path_of("BUNDLE"), nil))
    use(f.SSL_CTX_get_cert_store(ctx))
    f.SSL_CTX_free(ctx)
    local store = f.X509_STORE_new()
    print("add", turn == 1 and f.X509_STORE_add_cert(store, certificate("TWIN")))
    print("store", f.X509_STORE_load_locations(store, path_of("BUNDLE"), nil))
    use(store)
    f.X509_STORE_free(store)
end
print("names", f.OPENSSL_sk_num(f.SSL_load_client_CA_file(path_of("BUNDLE"))))
