/*
 * race FOLDER ROUNDS: threads verify with two stores that begin alike, and ask for the roots of the chains in every
 * way, all at once. Whatever one store hands out is one certificate, and never the other store's.
 */
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */
#define THREADS 6

static const char *folder;
static X509 *leaf;
static X509_STORE *stores[2];
static X509 *roots[2][THREADS];
static int wrong[THREADS];
static pthread_barrier_t start;

static const char *in_folder(const char *name, char *path)
{
    snprintf(path, 4096, "%s/%s", folder, name);
    return path;
}

static X509 *root_of(X509_STORE *store, int how)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *root = NULL;
    STACK_OF(X509) *chain;

    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    if (X509_verify_cert(ctx) != 1) {
        printf("refused: %d\n", X509_STORE_CTX_get_error(ctx));
    } else if (how % 3 == 0) {
        chain = X509_STORE_CTX_get0_chain(ctx);
        root = sk_X509_value(chain, sk_X509_num(chain) - 1);
    } else if (how % 3 == 1) {
        chain = X509_STORE_CTX_get1_chain(ctx);
        root = sk_X509_value(chain, sk_X509_num(chain) - 1);
        sk_X509_pop_free(chain, X509_free);
    } else if (X509_STORE_CTX_get1_issuer(&root, ctx, leaf) == 1) {
        X509_free(root);
    }
    X509_STORE_CTX_free(ctx);
    return root;
}

static void *work(void *argument)
{
    int me = (int)(long)argument;

    pthread_barrier_wait(&start);
    for (int round = 0; round < 4; round++) {
        int which = (me + round) & 1;
        X509 *root;

        /* Some threads only verify for a while: their chains are from before the exchange. */
        root = root_of(stores[which], me + round);
        if (root == NULL || (roots[which][me] != NULL && roots[which][me] != root))
            wrong[me]++;
        roots[which][me] = root;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    char path[4096];
    int rounds = argc < 3 ? 0 : atoi(argv[2]), failed = 0;
    FILE *in;

    if (rounds == 0)
        return 2;
    folder = argv[1];
    in = fopen(in_folder("leaf.pem", path), "re");
    leaf = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);
    if (leaf == NULL)
        return 3;
    fclose(in);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[THREADS];

        for (int i = 0; i < 2; i++) {
            stores[i] = X509_STORE_new();
            if (X509_STORE_load_locations(stores[i], in_folder("roots.pem", path), NULL) != 1)
                return 3;
            if (round & 1) {
                /* Both have it in memory, and nobody has seen it. */
                X509_STORE_CTX *ctx = X509_STORE_CTX_new();

                X509_STORE_CTX_init(ctx, stores[i], leaf, NULL);
                X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
                failed += X509_verify_cert(ctx) != 1;
                X509_STORE_CTX_free(ctx);
            }
        }
        for (int i = 0; i < THREADS; i++) {
            wrong[i] = 0;
            roots[0][i] = roots[1][i] = NULL;
        }
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) {
            failed += wrong[i];
            for (int which = 0; which < 2; which++)
                failed += roots[which][i] != roots[which][0] || roots[which][i] == roots[1 - which][0];
        }
        X509_STORE_free(stores[0]);
        X509_STORE_free(stores[1]);
    }
    X509_free(leaf);
    printf("failed %d\n", failed);
    return failed != 0;
}
