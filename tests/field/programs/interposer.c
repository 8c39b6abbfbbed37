/* A preloaded library of somebody else's, which stands in front of functions as well: it counts, or passes on. */
#include <dlfcn.h>
#include <stdio.h>

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (next == NULL) \
        *(void **)&next = dlsym(RTLD_NEXT, #name)

#ifdef INTERPOSE_FUNCTIONS
/* Of the program's own calls. libcrypto's calls of X509_STORE_add_cert are not counted: what is not parsed is not
 * added. */
static int calls;

int X509_STORE_add_cert(void *store, void *cert) {
    NEXT(X509_STORE_add_cert);
    return next(store, cert);
}

int X509_STORE_load_locations(void *store, const char *file, const char *path) {
    NEXT(X509_STORE_load_locations);
    calls++;
    return next(store, file, path);
}

int SSL_CTX_set_default_verify_paths(void *ctx) {
    NEXT(SSL_CTX_set_default_verify_paths);
    calls++;
    return next(ctx);
}

int X509_verify_cert(void *ctx) {
    NEXT(X509_verify_cert);
    calls++;
    return next(ctx);
}

__attribute__((destructor)) static void report(void) {
    printf("interposed: %d\n", calls);
}
#endif

#ifdef INTERPOSE_DLSYM
/* As apitrace, MangoHud and vkBasalt do. */
void *dlsym(void *handle, const char *name) {
    static void *(*next)(void *, const char *);
    if (next == NULL)
        *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (next == NULL)
        *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return next(handle, name);
}
#endif
