/* A preloaded library that stands in front of X509_STORE_load_locations and counts: lazily bound callers find it at
 * the first call (elf/dl-lookup.c). Who tells by himself where such a slot is going to lead can miss it, and then
 * calls go past it:
 *
 *   SYSV    it has the old hash table only (DT_HASH, -Wl,--hash-style=sysv)
 *   IFUNC   the symbol is an STT_GNU_IFUNC
 *   HIDDEN  it has the function in the version that is asked for, but not as the default (name@VERSION)
 *   ANCHOR  it stands in front of X509_STORE_new instead, by which a libcrypto is known */
#include <dlfcn.h>
#include <stdio.h>

static int calls;

__attribute__((destructor)) static void report(void) { printf("interposed: %d\n", calls); }

#ifdef ANCHOR
void *X509_STORE_new(void) {
    calls++;
    return ((void *(*)(void))dlsym(RTLD_NEXT, "X509_STORE_new"))();
}
#else
#if defined(IFUNC) || defined(HIDDEN)
#define FUNCTION counted_load
#else
#define FUNCTION X509_STORE_load_locations
#endif

int FUNCTION(void *store, const char *file, const char *path) {
    calls++;
    int (*next)(void *, const char *, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "X509_STORE_load_locations");
    return next(store, file, path);
}

#ifdef IFUNC
static int (*resolve(void))(void *, const char *, const char *) { return counted_load; }
int X509_STORE_load_locations(void *, const char *, const char *) __attribute__((ifunc("resolve")));
#elif defined(HIDDEN)
__asm__(".symver counted_load, X509_STORE_load_locations@OPENSSL_3.0.0");
#endif
#endif
