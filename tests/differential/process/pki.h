/* What several of these programs do with certificates. */
#ifndef PKI_H
#define PKI_H

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

static inline X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

static inline X509_STORE *loaded(const char *path)
{
    X509_STORE *store = X509_STORE_new();

    if (X509_STORE_load_locations(store, path, NULL) != 1)
        printf("%s is not loaded\n", path);
    return store;
}

/* X509_V_OK if the chain is good. */
static inline int verified(X509_STORE *store, X509 *leaf)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int error;

    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(ctx), X509_V_FLAG_NO_CHECK_TIME);
    error = X509_verify_cert(ctx) == 1 ? 0 : X509_STORE_CTX_get_error(ctx);
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return error;
}

#endif
