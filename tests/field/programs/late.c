/* late PLUGIN ACT MOMENT ask|silent: a store is made and loaded, and a plugin opened, which adds to it, enumerates it,
 * or makes one of its own. ACT: add, enumerate, own. MOMENT: constructor (inside dlopen), later (by a pointer that it
 * left), or first (the plugin is opened before anything else, and only then are stores made). `ask`: a dlsym comes
 * before it acts. */
#include "late.h"

#include <dlfcn.h>
#include <string.h>

void *host_store;
void (*plugin_act)(const char *act);

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    int first = strcmp(argv[3], "first") == 0;
    void *plugin = NULL;
    setenv("FIELD_CONSTRUCTOR", strcmp(argv[3], "constructor") == 0 ? argv[2] : "", 1);
    if (first)
        plugin = dlopen(argv[1], RTLD_NOW);
    host_store = X509_STORE_new();
    printf("load: %d\n", X509_STORE_load_locations(host_store, path_of("BUNDLE"), NULL));
    if (!first)
        plugin = dlopen(argv[1], RTLD_NOW);
    if (plugin == NULL)
        return 2;
    if (strcmp(argv[4], "ask") == 0)
        printf("found: %d\n", dlsym(plugin, "own_name") != NULL);
    if (strcmp(argv[3], "constructor") != 0)
        plugin_act(argv[2]);
    verify("good", host_store, "CHAIN");
    verify("untrusted", host_store, "UNTRUSTED");
    plugin_act("add");
    verify("good again", host_store, "CHAIN");
    plugin_act("enumerate");
    count("at the end", host_store);
    X509_STORE_free(host_store);
    return 0;
}
