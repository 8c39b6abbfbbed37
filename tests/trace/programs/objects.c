/* Loads with libraries on the stack that are not as they were loaded, and on a small stack. Each mode prints what it
 * sees, and ends with 0. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, SMALL = 5120 };

static const char *file;

static int load(void) {
    X509_STORE *store = X509_STORE_new();
    int result = X509_STORE_load_locations(store, file, NULL);
    X509_STORE_free(store);
    return result;
}

static struct link_map *opened(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL) {
        puts(dlerror());
        exit(3);
    }
    return handle;
}

typedef int passage(int (*next)(void));

/* What was unloaded leaves its place to the next one. */
static int replaced(char **paths) {
    for (int i = 0; i < 10; i++) {
        struct link_map *map = opened(paths[i % 2]);
        passage *function = (passage *)dlsym(map, i % 2 ? "other" : "first");
        printf("%d\n", function ? function(load) : -1);
        dlclose(map);
    }
    return 0;
}

static ucontext_t outside, inside;
static X509 *certificate;

static void add(void) {
    X509_STORE *store = X509_STORE_new();
    printf("%d\n", X509_STORE_add_cert(store, certificate));
    X509_STORE_free(store);
}

static int small(void) {
    FILE *from = fopen(file, "r");
    certificate = from ? PEM_read_X509(from, NULL, NULL, NULL) : NULL;
    add();
    char *stack = mmap(NULL, PAGE + SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, PAGE, PROT_NONE);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack + PAGE;
    inside.uc_stack.ss_size = SMALL;
    inside.uc_link = &outside;
    makecontext(&inside, add, 0);
    return swapcontext(&outside, &inside);
}

int main(int count, char **arguments) {
    const char *mode = count > 2 ? arguments[1] : "";
    file = arguments[2];
    if (strcmp(mode, "small") == 0)
        return small() || fflush(stdout);
    /* The objects of the start are known from here on. */
    printf("%d\n", load());
    if (count < 5)
        return 2;
    if (strcmp(mode, "replaced") == 0)
        return replaced(arguments + 3) || fflush(stdout);
    struct link_map *map = opened(arguments[3]);
    passage *function = (passage *)dlsym(map, "first");
    long at = atol(arguments[4]);
    int status = 2;
    if (strcmp(mode, "truncated") == 0)
        status = truncate(arguments[3], at);
    else if (strcmp(mode, "unreadable") == 0)
        status = mprotect((char *)map->l_addr + at, PAGE, PROT_NONE);
    printf("%d\n", status || !function ? -1 : function(load));
    fflush(stdout);
    /* Without a look at the library, which may be cut off. */
    _exit(status);
}
