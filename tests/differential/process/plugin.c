/*
 * plugin: what a program opens and closes again, linked against one OpenSSL.
 * Loads a file into a store and says what came of it.
 */
#include <openssl/x509_vfy.h>
#include <stdio.h>

__attribute__((visibility("default"))) void run(const char *file)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int loaded = X509_STORE_load_locations(store, file, NULL);
    int held = sk_X509_OBJECT_num(X509_STORE_get0_objects(store));

    printf("OpenSSL %lx: %d, %d objects, %d\n", OpenSSL_version_num() >> 28, loaded, held,
           X509_STORE_CTX_init(ctx, store, NULL, NULL));
    fflush(stdout);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
}
