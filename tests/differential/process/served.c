/*
 * Threads that make contexts and verify while others swap the compiled stores
 * they are served from.
 *
 *     served FOLDER THREADS ROUNDS CERTIFICATES
 *
 * FOLDER holds leaf-a.pem (whose root is in the bundle), leaf-b.pem (whose is
 * not) and copies/0.pem to copies/127.pem, equal bundles that never
 * changes (CERTIFICATES many): more names than the library keeps, so that it looks for a compiled
 * store again and again. Each load must succeed and give just that bundle.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINKS 128
#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static X509 *leaf_a, *leaf_b;
static int rounds, expected;
static atomic_int wrong, next;

static void fail(const char *what)
{
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "served: %s\n", what);
}

static X509 *read_leaf(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "served: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

static int trusts(X509_STORE *store, X509 *leaf)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int good = 0;

    if (ctx != NULL && X509_STORE_CTX_init(ctx, store, leaf, NULL)) {
        X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
        good = X509_verify_cert(ctx) == 1;
    }
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

static void *worker(void *arg)
{
    int n, held;
    (void)arg;

    for (n = 0; n < rounds; n++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        X509_STORE *store = SSL_CTX_get_cert_store(ctx);
        char path[4096], here[2048];

        snprintf(path, sizeof(path), "%s/copies/%d.pem", getcwd(here, sizeof(here)),
                 atomic_fetch_add(&next, 1) % LINKS);
        if (!SSL_CTX_load_verify_locations(ctx, path, NULL))
            fail("a load failed");
        if (!trusts(store, leaf_a))
            fail("the root of the bundle was not trusted");
        if (trusts(store, leaf_b))
            fail("a root that is not in the bundle was trusted");
        held = sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
        if (held != expected)
            fail("not as many certificates as in the bundle");
        SSL_CTX_free(ctx);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    int i, count = argc == 5 ? atoi(argv[2]) : 0;

    if (count < 1 || count > 64 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: served FOLDER THREADS ROUNDS CERTIFICATES\n");
        return 2;
    }
    rounds = atoi(argv[3]);
    expected = atoi(argv[4]);
    leaf_a = read_leaf("leaf-a.pem");
    leaf_b = read_leaf("leaf-b.pem");
    alarm(3000);
    for (i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL) != 0) {
            perror("served: pthread_create");
            return 3;
        }
    for (i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    X509_free(leaf_a);
    X509_free(leaf_b);
    printf("%d rounds, %d wrong\n", rounds, atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
