/* A module with a libssl of its own, as an extension of an interpreter may have. */
#include <openssl/ssl.h>

int module_load(const char *file) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int result = SSL_CTX_load_verify_locations(context, file, NULL);
    int held = sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context)));
    SSL_CTX_free(context);
    return result == 1 ? held : -1;
}
