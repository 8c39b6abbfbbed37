/* threads T MS context|unverified|store|empty-store: how many of these T threads make and free a second, in MS
 * milliseconds. */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int running = 0, stop = 0;
static int verifying, whole;

static void life(void) {
    if (whole) {
        SSL_CTX_free(new_context(verifying));
        return;
    }
    X509_STORE *store = X509_STORE_new();
    must(store != NULL, "X509_STORE_new");
    if (verifying)
        must(X509_STORE_set_default_paths(store), "X509_STORE_set_default_paths");
    X509_STORE_free(store);
}

static void *work(void *made) {
    life();
    atomic_fetch_add(&running, 1);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        life();
        ++*(long *)made;
    }
    return NULL;
}

int main(int argc, char **argv) {
    must(argc == 4, "reading T MS WHAT");
    int count = atoi(argv[1]), ms = atoi(argv[2]);
    verifying = strcmp(argv[3], "context") == 0 || strcmp(argv[3], "store") == 0;
    whole = strstr(argv[3], "store") == NULL;
    must(count > 0 && count <= 64, "reading T");
    life();
    static struct {
        long made;
        char apart[120];
    } made[64];
    pthread_t ids[64];
    for (int i = 0; i < count; i++)
        must(pthread_create(&ids[i], NULL, work, &made[i].made) == 0, "pthread_create");
    while (atomic_load(&running) < count) {
    }
    long long begin = now_ns();
    long before = 0, after = 0;
    for (int i = 0; i < count; i++)
        before += *(volatile long *)&made[i].made;
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&wait, NULL);
    for (int i = 0; i < count; i++)
        after += *(volatile long *)&made[i].made;
    long long taken = now_ns() - begin;
    atomic_store(&stop, 1);
    for (int i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
    printf("%.1f\n", (double)(after - before) * 1e9 / (double)taken);
    return 0;
}
