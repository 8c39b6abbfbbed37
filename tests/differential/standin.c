/*
 * A broken preload library: every third call to load a file loads nothing from
 * it. The harness must notice, on every OpenSSL build.
 */
#include <dlfcn.h>
#include <stddef.h>

typedef int loader(void *store, const char *file, const char *path);

int X509_STORE_load_locations(void *store, const char *file, const char *path)
{
    static int calls;
    loader *original = (loader *)dlsym(RTLD_NEXT, "X509_STORE_load_locations");

    return original(store, ++calls % 3 == 0 ? NULL : file, path);
}
