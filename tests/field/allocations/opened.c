/*
 * opened LIBRARY: opens the library when threads are there already, takes all memory away, and calls a hooked function
 * in a thread of before, in one that is new, and in the main one, each for the first time. None dies of it. With memory
 * again the function works.
 */
#include "failing.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef X509_STORE *maker(void);

static maker *make;
static pthread_barrier_t barrier;

static void make_error_queue(void)
{
    /* OpenSSL 4.0.3 recurses without end where it has no memory for it. */
    spare_this_thread(1);
    ERR_clear_error();
    spare_this_thread(0);
}

static void *of_before(void *unused)
{
    make_error_queue();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    X509_STORE_free(make());
    pthread_barrier_wait(&barrier);
    return unused;
}

static void *of_after(void *unused)
{
    make_error_queue();
    pthread_barrier_wait(&barrier);
    X509_STORE_free(make());
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t before, after;
    X509_STORE *store;
    void *library;
    int (*attach)(void);

    if (argc != 2)
        return 2;
    make_error_queue();
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&before, NULL, of_before, NULL);
    pthread_barrier_wait(&barrier);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    /* A library that comes between by itself, or one whose functions are to be called. */
    attach = (int (*)(void))dlsym(library, "windlass_preload_attach");
    make = attach != NULL ? X509_STORE_new : (maker *)dlsym(library, "X509_STORE_new");
    if (make == NULL || (attach != NULL && attach() < 0))
        return 3;
    set_plan((struct plan){ FROM, 0, 0 });
    arm_failing(1);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    arm_failing(0);
    pthread_join(before, NULL);
    pthread_create(&after, NULL, of_after, NULL);
    arm_failing(1);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    X509_STORE_free(make());
    arm_failing(0);
    pthread_join(after, NULL);
    ERR_clear_error();
    store = make();
    printf("%s\n", store != NULL ? "made" : "not made");
    X509_STORE_free(store);
    return store == NULL;
}
