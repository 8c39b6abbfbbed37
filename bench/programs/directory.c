/* directory DIR LEAVES THREADS CONTEXTS: THREADS threads, each makes CONTEXTS fresh contexts over the hashed directory
 * DIR and verifies with each one of the certificates of LEAVES, in turn. Before that one context has verified them all.
 * Prints ns of each context with its verification; opens "/windlass-bench-begin" when the first context is done, for
 * those who count system calls. */
#include "bench.h"
#include <fcntl.h>
#include <openssl/pem.h>
#include <pthread.h>

static const char *dir;
static X509 *leaves[4096];
static int leaf_count, contexts;

static void verify(SSL_CTX *ctx, X509 *leaf) {
    X509_STORE_CTX *verification = X509_STORE_CTX_new();
    must(X509_STORE_CTX_init(verification, SSL_CTX_get_cert_store(ctx), leaf, NULL), "X509_STORE_CTX_init");
    must(X509_verify_cert(verification) == 1, "X509_verify_cert");
    X509_STORE_CTX_free(verification);
}

static SSL_CTX *over_directory(void) {
    SSL_CTX *ctx = new_context(0);
    must(SSL_CTX_load_verify_locations(ctx, NULL, dir), dir);
    return ctx;
}

static void *work(void *taken) {
    long long *ns = taken;
    for (int i = 0; i < contexts; i++) {
        long long begin = now_ns();
        SSL_CTX *ctx = over_directory();
        verify(ctx, leaves[((size_t)taken / sizeof *ns + (size_t)i * 37) % (size_t)leaf_count]);
        SSL_CTX_free(ctx);
        ns[i] = now_ns() - begin;
    }
    return NULL;
}

int main(int argc, char **argv) {
    must(argc == 5, "reading DIR LEAVES THREADS CONTEXTS");
    dir = argv[1];
    FILE *in = fopen(argv[2], "r");
    must(in != NULL, argv[2]);
    while (leaf_count < 4096 && (leaves[leaf_count] = PEM_read_X509(in, NULL, NULL, NULL)) != NULL) leaf_count++;
    fclose(in);
    int threads = atoi(argv[3]);
    contexts = atoi(argv[4]);
    SSL_CTX *first = over_directory();
    for (int i = 0; i < leaf_count; i++) verify(first, leaves[i]);
    SSL_CTX_free(first);
    (void)!open("/windlass-bench-begin", O_RDONLY);
    long long *taken = calloc((size_t)(threads * contexts), sizeof *taken);
    pthread_t *all = calloc((size_t)threads, sizeof *all);
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, work, taken + i * contexts);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    printf("[");
    for (int i = 0; i < threads * contexts; i++) printf("%s%lld", i ? ", " : "", taken[i]);
    printf("]\n");
    return 0;
}
