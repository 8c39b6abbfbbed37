/* A shared object that imports functions that Windlass hooks. */
#include <openssl/ssl.h>

int use(SSL_CTX *ctx, X509_STORE *store, const char *path)
{
    X509_STORE_CTX *verification = X509_STORE_CTX_new();

    X509_STORE_free(X509_STORE_new());
    return SSL_CTX_set_default_verify_paths(ctx) + X509_STORE_load_locations(store, path, NULL) +
           X509_STORE_set_default_paths(store) + X509_verify_cert(verification);
}
