/*
 * following ROUNDS: threads verify while the file of their store is replaced. A verification that begins after a change
 * knows it. With `store` as second argument the store goes as well, while contexts still refer to it.
 */
#include "pki.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */
enum { THREADS = 4 };

static char bundle[4096];
static X509 *leaves[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static X509_STORE *current;
static int in_store, state, stop, wrong, checked;

static X509_STORE *made(void)
{
    X509_STORE *store = loaded(bundle);

    X509_STORE_set_ex_data(store, in_store, store);
    return store;
}

/* Odd while the file changes; then one leaf is good, and the other not. */
static void put(int which)
{
    char from[32], link[64];

    snprintf(from, sizeof(from), "root-%c.pem", 'a' + which);
    snprintf(link, sizeof(link), "new-%d", which);
    unlink(link);
    if (symlink(from, link) != 0)
        exit(4);
    __atomic_add_fetch(&state, 1, __ATOMIC_SEQ_CST);
    if (rename(link, "bundle.pem") != 0)
        exit(5);
    __atomic_add_fetch(&state, 1, __ATOMIC_SEQ_CST);
}

static void *run(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int before = __atomic_load_n(&state, __ATOMIC_SEQ_CST), which = before / 2 % 2, results[2];
        X509_STORE *store;

        pthread_mutex_lock(&lock);
        store = current;
        X509_STORE_up_ref(store);
        pthread_mutex_unlock(&lock);
        for (int at = 0; at < 2; at++) {
            X509_STORE_CTX *ctx = X509_STORE_CTX_new();
            X509_STORE *its;

            X509_STORE_CTX_init(ctx, store, leaves[at], NULL);
            its = X509_STORE_CTX_get0_store(ctx);
            if (its != store || X509_STORE_get_ex_data(its, in_store) != store)
                __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
            X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
            results[at] = X509_verify_cert(ctx);
            X509_STORE_CTX_free(ctx);
        }
        if (before % 2 == 0 && before == __atomic_load_n(&state, __ATOMIC_SEQ_CST)) {
            __atomic_add_fetch(&checked, 1, __ATOMIC_RELAXED);
            if (results[which] != 1 || results[!which] == 1)
                __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        }
        X509_STORE_free(store);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int rounds = argc > 1 ? atoi(argv[1]) : 1, goes = argc > 2;

    if (getcwd(bundle, 2048) == NULL)
        return 2;
    strcat(bundle, "/bundle.pem");
    in_store = X509_STORE_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    leaves[0] = read_certificate("leaf0.pem");
    leaves[1] = read_certificate("leaf1.pem");
    put(0);
    state = 0;
    current = made();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 1; i <= rounds; i++) {
        int enough = __atomic_load_n(&checked, __ATOMIC_RELAXED) + 4;

        put(i % 2);
        while (__atomic_load_n(&checked, __ATOMIC_RELAXED) < enough && wrong == 0)
            usleep(100);
        if (goes) {
            X509_STORE *old;

            pthread_mutex_lock(&lock);
            old = current;
            current = made();
            pthread_mutex_unlock(&lock);
            X509_STORE_free(old);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    X509_STORE_free(current);
    X509_free(leaves[0]);
    X509_free(leaves[1]);
    printf("%d wrong\n", wrong);
    return 0;
}
