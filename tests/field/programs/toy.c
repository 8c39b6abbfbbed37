/* Stands in for a libcrypto where it only matters whose function is called: each says so.
 *
 * TAG       its name OLD       it has X509_STORE_add_cert in two symbol versions, as a library that has changed it
 * MOVED     its functions lie elsewhere in the file, which has the same size in memory LARGE     it needs more memory:
 * another does not come to lie in its place WITH_SSL  it is a libssl, too */
#include <stdio.h>

#ifdef MOVED
__attribute__((noinline)) static void first(void) {
    puts(TAG ": moved");
    puts(TAG ": and moved again");
}
#else
static void first(void) {}
#endif

/* A libcrypto is known by these two. */
const char *X509_STORE_new(void) {
    first();
    puts(TAG ": new");
    return TAG;
}

void ERR_clear_error(void) {}

void *X509_STORE_get0_objects(void *store) {
    first();
    (void)store;
    puts(TAG ": objects");
    return NULL;
}

#ifdef OLD
int old_add(void *store, void *certificate) {
    (void)store, (void)certificate;
    puts(TAG ": add, old");
    return 2;
}
int new_add(void *store, void *certificate);
__asm__(".symver old_add, X509_STORE_add_cert@OPENSSL_1.1.0");
__asm__(".symver new_add, X509_STORE_add_cert@@OPENSSL_3.0.0");
#define X509_STORE_add_cert new_add
#endif

int X509_STORE_add_cert(void *store, void *certificate) {
    first();
    (void)store, (void)certificate;
    puts(TAG ": add");
    return 1;
}

#ifdef WITH_SSL
void *SSL_CTX_new(void *method) { return method; }
void *SSL_CTX_free(void *context) { return context; }
#endif

#ifdef LARGE
char room[3 << 16];
#endif
