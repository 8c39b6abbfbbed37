/* host WAY [FILE] [FLAG…]: the program that runs the script with functions that it got in the given way.
 *
 *   static            addresses in its static data: the library's, or wrappers'
 *   plugin FILE …     wrappers, found by dlsym in a shared object that it opens
 *   handle FILE …     the library's own functions, found by dlsym in a handle
 *   default, next     the same, by dlsym(RTLD_DEFAULT) and dlsym(RTLD_NEXT)
 *   versioned VERSION… by dlvsym(RTLD_DEFAULT): the first of the versions that it has
 *
 * FLAGs: now, lazy, local, global, deepbind, newlm, nodelete. */
#include "field.h"

#include <dlfcn.h>
#include <string.h>

static void *wanted(void *found, const char *what) {
    if (found == NULL) {
        fprintf(stderr, "host: %s: %s\n", what, dlerror());
        exit(2);
    }
    return found;
}

static int has(int argc, char **argv, const char *flag) {
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], flag) == 0)
            return 1;
    return 0;
}

static void *open_with(int argc, char **argv) {
    int mode = (has(argc, argv, "lazy") ? RTLD_LAZY : RTLD_NOW) | (has(argc, argv, "global") ? RTLD_GLOBAL : 0) |
               (has(argc, argv, "deepbind") ? RTLD_DEEPBIND : 0) | (has(argc, argv, "nodelete") ? RTLD_NODELETE : 0);
    return wanted(has(argc, argv, "newlm") ? dlmopen(LM_ID_NEWLM, argv[0], mode) : dlopen(argv[0], mode), argv[0]);
}

static void *by_handle(void *handle, const char *name) { return dlsym(handle, name); }

/* The versions of NULL-terminated `handle`, in turn. */
static void *by_version(void *handle, const char *name) {
    void *found = NULL;
    for (char **version = handle; found == NULL && *version != NULL; version++)
        found = dlvsym(RTLD_DEFAULT, name, *version);
    return found;
}

int main(int argc, char **argv) {
    struct functions f = static_functions;
    const char *way = argc > 1 ? argv[1] : "";
    own_stores("before");
    if (strcmp(way, "plugin") == 0 || strcmp(way, "handle") == 0)
        find_functions(&f, by_handle, open_with(argc - 2, argv + 2), strcmp(way, "plugin") == 0 ? "wrap_" : "");
    else if (strcmp(way, "default") == 0)
        find_functions(&f, by_handle, RTLD_DEFAULT, "");
    else if (strcmp(way, "next") == 0)
        find_functions(&f, by_handle, RTLD_NEXT, "");
    else if (strcmp(way, "versioned") == 0)
        find_functions(&f, by_version, argv + 2, "");
    else if (strcmp(way, "static") != 0)
        return 2;
    script(&f);
    own_stores("after");
    return 0;
}
