/* A client's context with OpenSSL: SSL_CTX_new and SSL_CTX_set_default_verify_paths. */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "peer.h"

static const char *leaf_path;
static X509 *leaf;

static void *make(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    must(ctx != NULL && SSL_CTX_set_default_verify_paths(ctx), "making a context");
    return ctx;
}

/* Not before the first context, which pays for the start of libcrypto. */
static void read_leaf(void) {
    FILE *file = fopen(leaf_path, "r");
    must(file != NULL, "opening the leaf");
    leaf = PEM_read_X509(file, NULL, NULL, NULL);
    must(leaf != NULL, "reading the leaf");
    fclose(file);
}

static void verify(void *ctx) {
    if (leaf == NULL)
        read_leaf();
    X509_STORE_CTX *run = X509_STORE_CTX_new();
    must(run != NULL && X509_STORE_CTX_init(run, SSL_CTX_get_cert_store(ctx), leaf, NULL), "X509_STORE_CTX_init");
    must(X509_STORE_CTX_set_default(run, "ssl_server"), "X509_STORE_CTX_set_default");
    must(X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(run), "localhost", 0), "X509_VERIFY_PARAM_set1_host");
    must(X509_verify_cert(run) == 1, "X509_verify_cert");
    X509_STORE_CTX_free(run);
}

static void drop(void *ctx) { SSL_CTX_free(ctx); }

int main(int argc, char **argv) {
    must(argc == 5, "reading MODE, N, ROOT and LEAF");
    const struct peer peer = {make, verify, drop};
    leaf_path = argv[4];
    measure(&peer, argv[1], atoi(argv[2]));
    X509_free(leaf);
    return 0;
}
