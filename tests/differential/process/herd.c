/*
 * herd BUNDLE ROUNDS LEAF ...: more threads are in the middle of a first verification than a library can have prepared
 * for. No good chain is refused.
 */
#include "pki.h"
#include <pthread.h>

#define THREADS 700

static X509_STORE *store;
static X509 *leaves[8];
static int count, refused;
static pthread_barrier_t start;

static void *verify(void *number)
{
    pthread_barrier_wait(&start);
    if (verified(store, leaves[(long)number % count]) != 0)
        __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;

    if (argc < 4 || argc - 3 > 8)
        return 2;
    for (count = 0; count < argc - 3; count++)
        leaves[count] = read_certificate(argv[3 + count]);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int round = atoi(argv[2]); round > 0; round--) {
        store = loaded(argv[1]);
        for (long i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], &small, verify, (void *)i) != 0)
                return 3;
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        X509_STORE_free(store);
    }
    printf("%d refused\n", refused);
    return refused != 0;
}
