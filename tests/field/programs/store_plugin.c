/* A plugin that calls a libcrypto: `act` makes a store of its own, `plugin_enumerate` lists that of the program. The
 * constructor leaves the latter, so that nobody has to call dlsym before it is called.
 *
 * As a module of Node it acts when it is loaded. Node is an executable that exports an OpenSSL without symbol
 * versions. A module's slots name those of libcrypto.so.3, against which it was linked; but a definition without
 * versions is right for any (elf/dl-lookup.c, check_match), and the executable comes first. So a lazily bound module
 * calls Node's OpenSSL; taken for calls of libcrypto.so.3, they would mix two libraries' objects. */
#include "late.h"

extern void *host_store __attribute__((weak));
extern void (*plugin_enumerate)(void) __attribute__((weak));

int act(void) {
    void *store = X509_STORE_new();
    printf("plugin loads: %d\n", X509_STORE_load_locations(store, path_of("BUNDLE"), NULL));
    count("plugin's own", store);
    verify("plugin: good", store, "CHAIN");
    X509_STORE_free(store);
    return 0;
}

static void enumerate(void) { count("plugin", host_store); }

__attribute__((constructor)) static void leave(void) {
    if (&plugin_enumerate != NULL)
        plugin_enumerate = enumerate;
}

void *napi_register_module_v1(void *environment, void *exports) {
    (void)environment;
    act();
    fflush(stdout);
    return exports;
}
