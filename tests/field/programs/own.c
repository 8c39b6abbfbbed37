/* A store of the program's own libcrypto, by linked calls, before and after the rest. */
#include "field.h"

#ifdef OWN
void *X509_STORE_new(void);
void X509_STORE_free(void *store);
int X509_STORE_load_locations(void *store, const char *file, const char *path);
int X509_STORE_set_default_paths(void *store);
int X509_STORE_lock(void *store);
int X509_STORE_unlock(void *store);
void *X509_STORE_get0_objects(void *store);
int OPENSSL_sk_num(const void *stack);

void own_stores(const char *when) {
    void *store = X509_STORE_new();
    int loaded = X509_STORE_load_locations(store, path_of("BUNDLE"), NULL), defaults = X509_STORE_set_default_paths(store);
    X509_STORE_lock(store);
    printf("%s: %d %d %d\n", when, loaded, defaults, OPENSSL_sk_num(X509_STORE_get0_objects(store)));
    X509_STORE_unlock(store);
    X509_STORE_free(store);
}
#else
void own_stores(const char *when) { (void)when; }
#endif
