/* The plugin of late.c. It acts when it is loaded, or leaves a pointer with the host: no dlsym is needed. */
#include "late.h"

#include <string.h>

extern void *host_store;
extern void (*plugin_act)(const char *act);
int own_name;

static void act(const char *what) {
    if (strcmp(what, "add") == 0)
        printf("plugin adds: %d\n", X509_STORE_add_cert(host_store, certificate("TWIN")));
    if (strcmp(what, "enumerate") == 0)
        count("plugin", host_store);
    if (strcmp(what, "own") == 0) {
        void *store = X509_STORE_new();
        printf("plugin's load: %d\n", X509_STORE_load_locations(store, path_of("BUNDLE"), NULL));
        verify("plugin: good", store, "CHAIN");
        count("plugin", store);
        printf("plugin adds: %d\n", X509_STORE_add_cert(store, certificate("TWIN")));
        verify("plugin: good", store, "CHAIN");
        X509_STORE_free(store);
    }
}

__attribute__((constructor)) static void loaded(void) {
    plugin_act = act;
    act(getenv("FIELD_CONSTRUCTOR"));
}
