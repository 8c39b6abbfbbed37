/* A plugin (PLUGIN) whose constructor, with the linker's lock held (elf/dl-open.c), waits for another thread, which
 * calls libcrypto for the first time. That call must not need the lock, as a dlopen or dl_iterate_phdr of one's own
 * would. */
#include "linker.h"

#ifdef PLUGIN
extern void wait_for_the_other(void);

__attribute__((constructor)) static void start(void) { wait_for_the_other(); }
#else
#include "late.h"

#include <pthread.h>
#include <semaphore.h>

#define NO_CONFIGURATION 0x80 /* OPENSSL_INIT_NO_LOAD_CONFIG: else libcrypto itself calls dlopen */
int OPENSSL_init_crypto(unsigned long options, const void *settings);

static sem_t begun, done;

void wait_for_the_other(void) {
    sem_post(&begun);
    sem_wait(&done);
}

static void *other(void *nothing) {
    sem_wait(&begun);
    void *store = X509_STORE_new();
    printf("load: %d\n", X509_STORE_load_locations(store, path_of("BUNDLE"), NULL));
    verify("good", store, "CHAIN");
    count("all", store);
    X509_STORE_free(store);
    sem_post(&done);
    return nothing;
}

int main(int argc, char **argv) {
    begin();
    if (argc != 2)
        return 2;
    OPENSSL_init_crypto(NO_CONFIGURATION, NULL);
    sem_init(&begun, 0, 0);
    sem_init(&done, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    opened(argv[1], RTLD_NOW);
    pthread_join(thread, NULL);
    printf("end\n");
    return 0;
}
#endif
