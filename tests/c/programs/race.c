/* race BUNDLE LEAF VIA ROUNDS: in each round, threads begin to verify the same chain with a fresh store at the same
 * moment. Prints in how many rounds one of them had another verdict than "good". */
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <windlass_openssl.h>

#define THREADS 3

static X509 *leaf;
static STACK_OF(X509) *via;
static X509_STORE *store;
static pthread_barrier_t begin, end;
static int rounds, wrong[THREADS];

static X509 *certificate(const char *path)
{
    BIO *file = BIO_new_file(path, "r");
    X509 *found = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    BIO_free(file);
    return found;
}

static void *verify(void *own)
{
    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&begin);
        X509_STORE_CTX *context = X509_STORE_CTX_new();
        X509_STORE_CTX_init(context, store, leaf, via);
        *(int *)own = X509_verify_cert(context) != 1;
        X509_STORE_CTX_free(context);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    windlass_trust *trust;
    windlass_store *state;
    pthread_t threads[THREADS];
    int bad = 0;
    if (count != 5 || windlass_trust_open(arguments[1], 0, &trust, NULL) != WINDLASS_OK ||
        windlass_trust_store(trust, &state, NULL) != WINDLASS_OK)
        return 2;
    leaf = certificate(arguments[2]);
    via = sk_X509_new_null();
    sk_X509_push(via, certificate(arguments[3]));
    rounds = atoi(arguments[4]);
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (int at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, verify, &wrong[at]);
    for (int round = 0; round < rounds; round++) {
        store = X509_STORE_new();
        if (!windlass_openssl_install(store, state, NULL))
            return 3;
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        X509_STORE_free(store);
        int any = 0;
        for (int at = 0; at < THREADS; at++)
            any |= wrong[at];
        bad += any;
    }
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    printf("%d of %d rounds had a wrong verdict\n", bad, rounds);
    sk_X509_pop_free(via, X509_free);
    X509_free(leaf);
    windlass_store_release(state);
    windlass_trust_release(trust);
    return 0;
}
