/* beside FILE LIBRARY: loads certificates before LIBRARY (the preload library) is loaded, with it, when it has gone out
 * of the way, and when it is back; each time by a call of its own, by a pointer from before, and by one that is found
 * anew. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <stdio.h>

typedef int load_function(X509_STORE *, const char *, const char *);
static load_function *before;

/* What is called by a pointer from before comes past the library here, so it is told to serve all the same. */
static void serve_all(void *library) {
    int (*excuse)(int) = library ? (int (*)(int))dlsym(library, "windlass_preload_excuse") : NULL;
    if (library && (!excuse || excuse(1) != 1))
        puts("not served");
}

static void load(const char *file) {
    load_function *functions[] = {X509_STORE_load_locations, before,
                                  (load_function *)dlsym(RTLD_DEFAULT, "X509_STORE_load_locations")};
    for (int i = 0; i < 3; i++) {
        X509_STORE *store = X509_STORE_new();
        int result = functions[i](store, file, NULL);
        printf("%d %d\n", result, sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
        X509_STORE_free(store);
    }
}

int main(int count, char **arguments) {
    before = (load_function *)dlsym(RTLD_DEFAULT, "X509_STORE_load_locations");
    load(arguments[1]);
    void *library = count > 2 ? dlopen(arguments[2], RTLD_NOW) : NULL;
    serve_all(library);
    load(arguments[1]);
    const char *names[] = {"windlass_preload_detach", "windlass_preload_attach"};
    for (int i = 0; i < 2; i++) {
        int (*change)(void) = library ? (int (*)(void))dlsym(library, names[i]) : NULL;
        if (library && (!change || change() != i))
            puts(names[i]);
        if (i == 1)
            serve_all(library);
        load(arguments[1]);
    }
    return fflush(stdout) != 0;
}
