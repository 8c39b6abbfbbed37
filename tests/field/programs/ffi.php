<?php
// OpenSSL's functions by PHP's FFI.
$f = FFI::cdef('
void *TLS_client_method(void); void *SSL_CTX_new(void *); int SSL_CTX_load_verify_locations(void *, const char *, const char *);
int SSL_CTX_set_default_verify_paths(void *); void *SSL_CTX_get_cert_store(void *); void *SSL_load_client_CA_file(const char *);
void *BIO_new_file(const char *, const char *); void *PEM_read_bio_X509(void *, void *, void *, void *); void *X509_STORE_new(void);
void X509_STORE_free(void *); int X509_STORE_load_locations(void *, const char *, const char *); int X509_STORE_add_cert(void *, void *);
void *X509_STORE_get1_all_certs(void *); void *X509_STORE_CTX_new(void); int X509_STORE_CTX_init(void *, void *, void *, void *);
int X509_verify_cert(void *); int X509_STORE_CTX_get_error(void *); int OPENSSL_sk_num(void *); void *OPENSSL_sk_new_null(void);
int OPENSSL_sk_push(void *, void *);', 'libssl.so.3');

function path_of($name) { return getenv("FIELD_$name"); }
function certificate($name) { global $f; return $f->PEM_read_bio_X509($f->BIO_new_file(path_of($name), 'r'), null, null, null); }

function verify($title, $store, $name) {
    global $f;
    $untrusted = $f->OPENSSL_sk_new_null();
    $ctx = $f->X509_STORE_CTX_new();
    $f->OPENSSL_sk_push($untrusted, certificate('INTERMEDIATE'));
    $begun = $f->X509_STORE_CTX_init($ctx, $store, certificate($name), $untrusted);
    printf("%s %d %d %d\n", $title, $begun, $f->X509_verify_cert($ctx), $f->X509_STORE_CTX_get_error($ctx));
}

function use_store($store) {
    global $f;
    verify('good', $store, 'CHAIN');
    verify('untrusted', $store, 'UNTRUSTED');
    printf("add %d\n", $f->X509_STORE_add_cert($store, certificate('TWIN')));
    verify('good again', $store, 'CHAIN');
    printf("certificates %d\n", $f->OPENSSL_sk_num($f->X509_STORE_get1_all_certs($store)));
}

foreach ([0, 1] as $turn) {
    $ctx = $f->SSL_CTX_new($f->TLS_client_method());
    printf("context %d\n", $turn ? $f->SSL_CTX_load_verify_locations($ctx, path_of('BUNDLE'), null)
                                 : $f->SSL_CTX_set_default_verify_paths($ctx));
    use_store($f->SSL_CTX_get_cert_store($ctx));
    $store = $f->X509_STORE_new();
    if ($turn)
        printf("add %d\n", $f->X509_STORE_add_cert($store, certificate('TWIN')));
    printf("store %d\n", $f->X509_STORE_load_locations($store, path_of('BUNDLE'), null));
    use_store($store);
    $f->X509_STORE_free($store);
}
printf("names %d\n", $f->OPENSSL_sk_num($f->SSL_load_client_CA_file(path_of('BUNDLE'))));
