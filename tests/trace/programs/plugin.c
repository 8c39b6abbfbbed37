/* A plugin whose constructor waits for a thread that loads certificates: the dynamic linker's lock is held
 * meanwhile. */
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>

extern int strange_load(void);

static void *work(void *nothing) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    printf("%d %d\n", strange_load(), SSL_CTX_set_default_verify_paths(context));
    SSL_CTX_free(context);
    return nothing;
}

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}
