/*
 * detached LIBRARY BUNDLE OBJECTS GOOD BAD SECONDS: the library comes and goes (windlass_preload_attach and _detach)
 * while other threads load stores of their own, verify with them and list them, through slots and through what dlsym
 * gave while it was there.
 */
#include "pki.h"
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef X509_STORE *make(void);
typedef int load(X509_STORE *, const char *, const char *);

static const char *bundle;
static int objects, wrong, stop;
static make *found_make;
static load *found_load;

static X509 *good, *bad;

static int list(X509_STORE *store)
{
    int count;

    X509_STORE_lock(store);
    count = sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
    X509_STORE_unlock(store);
    X509_STORE_free(store);
    return count;
}

static void *run(void *found)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        X509_STORE *store = found ? found_make() : X509_STORE_new();

        (found ? found_load : X509_STORE_load_locations)(store, bundle, NULL);
        if (verified(store, good) != 0 || verified(store, bad) != X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
            __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        if (list(store) != objects)
            __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    void *library;
    int (*attach)(void), (*detach)(void), (*excuse)(int);
    pthread_t threads[3];
    time_t end;

    if (argc != 7 || (library = dlopen(argv[1], RTLD_NOW)) == NULL)
        return 2;
    bundle = argv[2];
    objects = atoi(argv[3]);
    good = read_certificate(argv[4]);
    bad = read_certificate(argv[5]);
    attach = (int (*)(void))dlsym(library, "windlass_preload_attach");
    detach = (int (*)(void))dlsym(library, "windlass_preload_detach");
    excuse = (int (*)(int))dlsym(library, "windlass_preload_excuse");
    found_make = (make *)dlsym(RTLD_DEFAULT, "X509_STORE_new");
    found_load = (load *)dlsym(RTLD_DEFAULT, "X509_STORE_load_locations");
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, i == 2 ? main : NULL);
    for (end = time(NULL) + atoi(argv[6]); time(NULL) < end;) {
        /* All addresses come from while it was there. */
        if (detach() != 0 || (usleep(rand() % 2000), attach()) != 1 || excuse(1) != 1)
            return 3;
        usleep(rand() % 2000);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    /* What dlsym gave leads past the library when that has gone. */
    detach();
    {
        X509_STORE *store = found_make();

        found_load(store, bundle, NULL);
        if (list(store) != objects)
            wrong++;
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
