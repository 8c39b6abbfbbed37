/* direct FUNCTION FILE: a program that finds libcrypto's functions by dlsym. FUNCTION is the first that it calls; in
 * Debian's libcrypto some of these end in a jump to one that a preloaded library may stand in front of. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *crypto;

static void *need(const char *name) {
    void *symbol = crypto ? dlsym(crypto, name) : NULL;
    if (symbol == NULL)
        fprintf(stderr, "%s: %s\n", name, dlerror());
    return symbol;
}

int main(int argc, char **argv) {
    crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    void *(*new_store)(void) = (void *(*)(void))need("X509_STORE_new");
    void *(*objects)(void *) = (void *(*)(void *))need("X509_STORE_get1_all_certs");
    int (*count)(void *) = (int (*)(void *))need("OPENSSL_sk_num");
    void *function = argc == 3 ? need(argv[1]) : NULL;
    if (!new_store || !objects || !count || !function)
        return 2;
    void *store = new_store();
    int loaded = strcmp(argv[1], "X509_STORE_load_locations") == 0
                     ? ((int (*)(void *, const char *, const char *))function)(store, argv[2], NULL)
                 : strcmp(argv[1], "X509_STORE_load_file") == 0
                     ? ((int (*)(void *, const char *))function)(store, argv[2])
                                                                : ((int (*)(void *))function)(store);
    printf("%s: %d %d\n", argv[1], loaded, count(objects(store)));
    return 0;
}
