/* Helpers of the benchmark programs. */
#ifndef BENCH_H
#define BENCH_H
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline void must(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

/* A context that verifies against the default paths; with 0 one that holds no roots. */
static inline SSL_CTX *new_context(int verifying) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    must(ctx != NULL, "SSL_CTX_new");
    if (verifying)
        must(SSL_CTX_set_default_verify_paths(ctx), "SSL_CTX_set_default_verify_paths");
    return ctx;
}
#endif
