/* Helpers of late.c, its plugin, and provider.c: linked calls. */
#ifndef LATE_H
#define LATE_H
#include FUNCTIONS
#include <stdio.h>
#include <stdlib.h>

static inline const char *path_of(const char *name) {
    char variable[64];
    snprintf(variable, sizeof variable, "FIELD_%s", name);
    return getenv(variable);
}

static inline void *certificate(const char *name) {
    void *bio = BIO_new_file(path_of(name), "r"), *read = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    return read;
}

static inline void verify(const char *title, void *store, const char *name) {
    void *untrusted = OPENSSL_sk_new_null(), *ctx = X509_STORE_CTX_new();
    OPENSSL_sk_push(untrusted, certificate("INTERMEDIATE"));
    int begun = X509_STORE_CTX_init(ctx, store, certificate(name), untrusted), verdict = X509_verify_cert(ctx);
    printf("%s: %d %d error %d depth %d\n", title, begun, verdict, X509_STORE_CTX_get_error(ctx),
           X509_STORE_CTX_get_error_depth(ctx));
    X509_STORE_CTX_free(ctx);
}

static inline void count(const char *title, void *store) {
    X509_STORE_lock(store);
    printf("%s: %d objects\n", title, OPENSSL_sk_num(X509_STORE_get0_objects(store)));
    X509_STORE_unlock(store);
}
#endif
