/* Helpers of reach.c. */
#ifndef REACH_H
#define REACH_H
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *path_of(const char *name) {
    char variable[64];
    snprintf(variable, sizeof variable, "REACH_%s", name);
    const char *value = getenv(variable);
    if (value == NULL) {
        fprintf(stderr, "%s is not set\n", variable);
        exit(2);
    }
    return value;
}

static inline X509 *certificate(const char *name) {
    FILE *file = fopen(path_of(name), "r");
    X509 *read = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    if (read == NULL) {
        fprintf(stderr, "cannot read %s\n", name);
        exit(2);
    }
    fclose(file);
    return read;
}

static inline void print_name(const char *before, const X509_NAME *name) {
    char text[512];
    X509_NAME_oneline(name, text, sizeof text);
    printf("%s%s\n", before, text);
}

/* The whole error queue, oldest first, without the file, line and thread. */
static inline void print_errors(const char *title) {
    unsigned long code;
    const char *data;
    int flags, count = 0;
    while ((code = ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) != 0) {
        char text[256];
        ERR_error_string_n(code, text, sizeof text);
        printf("%s: %s %s\n", title, text, flags & ERR_TXT_STRING ? data : "");
        count++;
    }
    printf("%s: %d errors\n", title, count);
}

/* Verdict, error, depth and chain of the good leaf with its intermediate against this store. */
static inline int verify(X509_STORE *store, int print) {
    X509 *leaf = certificate("LEAF"), *intermediate = certificate("INTERMEDIATE");
    STACK_OF(X509) *untrusted = sk_X509_new_null();
    sk_X509_push(untrusted, intermediate);
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_STORE_CTX_init(ctx, store, leaf, untrusted);
    int verdict = X509_verify_cert(ctx);
    if (print) {
        printf("verdict %d error %d depth %d\n", verdict, X509_STORE_CTX_get_error(ctx),
               X509_STORE_CTX_get_error_depth(ctx));
        STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(ctx);
        for (int i = 0; i < sk_X509_num(chain); i++) {
            X509 *link = sk_X509_value(chain, i);
            print_name("  ", X509_get_subject_name(link));
            char *serial = i2s_ASN1_INTEGER(NULL, X509_get0_serialNumber(link));
            printf("  serial %s\n", serial);
            OPENSSL_free(serial);
        }
    }
    X509_STORE_CTX_free(ctx);
    sk_X509_free(untrusted);
    X509_free(leaf);
    X509_free(intermediate);
    return verdict;
}

/* Number and order of what the store holds. */
static inline void print_objects(const char *title, X509_STORE *store) {
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    unsigned long digest = 5381;
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        X509 *held = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
        unsigned char *der = NULL;
        int length = held ? i2d_X509(held, &der) : 0;
        for (int k = 0; k < length; k++)
            digest = digest * 33 + der[k];
        OPENSSL_free(der);
    }
    STACK_OF(X509) *all = X509_STORE_get1_all_certs(store);
    printf("%s: %d objects, %d certificates, %lx\n", title, sk_X509_OBJECT_num(objects), sk_X509_num(all), digest);
    for (int i = 0; i < sk_X509_num(all); i++)
        print_name("  ", X509_get_subject_name(sk_X509_value(all, i)));
    sk_X509_pop_free(all, X509_free);
}

static inline X509_STORE *loaded(const char *name) {
    X509_STORE *store = X509_STORE_new();
    printf("load %s: %d\n", name, X509_STORE_load_file(store, path_of(name)));
    return store;
}
#endif
