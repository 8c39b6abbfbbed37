/* closing STAYS COMES: one thread opens and closes a libcrypto, others ask dlsym for functions of one that stays.
 * dlclose takes an object's memory away with the linker's lock held (elf/dl-close.c), of which the others know
 * nothing. */
#include "linker.h"

#include <pthread.h>

#define TIMES 100000

static volatile int is_over;
static void *stays;

static void *opens_and_closes(void *path) {
    while (!is_over) {
        void *handle = opened(path, RTLD_LAZY);
        if (dlsym(handle, "X509_STORE_new") == NULL)
            puts("not found");
        dlclose(handle);
    }
    return path;
}

static void *asks(void *name) {
    void *first = dlsym(stays, name);
    for (int i = 0; i < TIMES; i++)
        if (dlsym(stays, name) != first)
            puts("another");
    return name;
}

int main(int argc, char **argv) {
    begin();
    if (argc != 3)
        return 2;
    /* The one that is closed is known before the one that stays. */
    void *first = opened(argv[2], RTLD_LAZY);
    dlsym(first, "X509_STORE_new");
    stays = opened(argv[1], RTLD_LAZY);
    dlsym(stays, "X509_STORE_new");
    dlclose(first);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, opens_and_closes, argv[2]);
    pthread_create(&threads[1], NULL, asks, "X509_STORE_add_cert");
    asks("X509_STORE_new");
    pthread_join(threads[1], NULL);
    is_over = 1;
    pthread_join(threads[0], NULL);
    puts("end");
    return 0;
}
