/* Programs of an unusual make, one a mode. Each prints what it sees, and ends with 0. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static const char *file;

/* Also for plugins. */
__attribute__((visibility("default"), noinline)) int strange_load(void) {
    X509_STORE *store = X509_STORE_new();
    int result = X509_STORE_load_locations(store, file, NULL);
    X509_STORE_free(store);
    return result;
}

/* A function that finds its frame by the frame pointer: a walk that comes upon an address in it reads where that
 * points. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void *with_frame(void) {
    strange_load();
    return __builtin_return_address(0);
}

static ucontext_t outside, inside;
static void *beyond[2];

/* A coroutine. Nothing returns to where it began: what lies there is anything. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void coroutine(void) {
    void *volatile *frame = __builtin_frame_address(0);
    frame[0] = beyond[0];
    frame[1] = beyond[1];
    printf("%d\n", strange_load());
    swapcontext(&inside, &outside);
}

static void in_coroutine(void *saved, void *address) {
    static char stack[256 * 1024];
    beyond[0] = saved;
    beyond[1] = address;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, coroutine, 0);
    swapcontext(&outside, &inside);
}

static void coroutines(void) {
    void *addresses[] = {(void *)0xdeadbeef, (void *)8, (void *)-1L, NULL, (char *)with_frame + 12,
                         file ? (void *)file : NULL,
                         (char *)dlsym(RTLD_DEFAULT, "qsort") + 40, (char *)dlsym(RTLD_DEFAULT, "printf") + 150};
    void *saved[] = {NULL, (void *)0x123456789000, (void *)-16L, (void *)1, stdin};
    for (unsigned i = 0; i < sizeof addresses / sizeof *addresses; i++)
        for (unsigned j = 0; j < sizeof saved / sizeof *saved; j++)
            in_coroutine(saved[j], addresses[i]);
}

static int control(X509_LOOKUP *lookup, int command, const char *argument, long number, char **answer) {
    printf("%d %p %ld\n", command, (void *)argument, number);
    return lookup != NULL && answer == NULL;
}

/* A program's own method of looking up: its commands are numbered like OpenSSL's, and its arguments are no strings. */
static void own_lookup(void) {
    X509_STORE *store = X509_STORE_new();
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("own");
    X509_LOOKUP_meth_set_ctrl(method, control);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, method), *alone = X509_LOOKUP_new(method);
    for (int command = 1; command < 5; command++)
        printf("%d %d\n", X509_LOOKUP_ctrl(lookup, command, (char *)42, 7, NULL),
               X509_LOOKUP_ctrl(alone, command, (char *)43, 8, NULL));
    X509_LOOKUP_free(alone);
    X509_STORE_free(store);
    X509_LOOKUP_meth_free(method);
    /* One of OpenSSL's, perhaps at the same address. */
    store = X509_STORE_new();
    lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    printf("%d\n", X509_LOOKUP_load_file(lookup, file, X509_FILETYPE_PEM));
    X509_STORE_free(store);
}

/* Many free blocks, which mallinfo2 visits one by one. */
static void fragments(void) {
    enum { COUNT = 400000 };
    void **all = malloc(COUNT * sizeof *all);
    for (int i = 0; i < COUNT; i++)
        all[i] = malloc(2000);
    for (int i = 0; i < COUNT; i += 2)
        free(all[i]);
    for (int i = 0; i < 20; i++)
        printf("%d", strange_load());
    puts("");
}

/* What is in an OSSL_STORE is looked for at each verification. */
static void in_store(const char *uri) {
    X509_STORE *store = X509_STORE_new();
    FILE *from = fopen(file, "r");
    X509 *certificate = from ? PEM_read_X509(from, NULL, NULL, NULL) : NULL;
    printf("%d\n", X509_STORE_load_store(store, uri));
    for (int i = 0; i < 2; i++) {
        X509_STORE_CTX *context = X509_STORE_CTX_new();
        X509_STORE_CTX_init(context, store, certificate, NULL);
        printf("%d\n", X509_verify_cert(context));
        X509_STORE_CTX_free(context);
    }
    X509_STORE_free(store);
}

/* The function of a name, found in each way. */
static void by_name(void) {
    const char *name = "X509_STORE_load_locations";
    void *handle = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD);
    void *found[] = {dlsym(RTLD_DEFAULT, name), dlsym(handle, name), dlvsym(handle, name, "OPENSSL_3.0.0"),
                     dlsym(RTLD_DEFAULT, "no such name")};
    printf("%d\n", found[3] == NULL && dlerror() != NULL && found[0] == found[1] && found[1] == found[2]);
    for (int i = 0; i < 3; i++) {
        X509_STORE *store = X509_STORE_new();
        printf("%d\n", ((int (*)(X509_STORE *, const char *, const char *))found[i])(store, file, NULL));
        X509_STORE_free(store);
    }
}

/* In which files the functions are that a call, a name and the C library's own name lead to. */
static void where(void) {
    void *found[] = {(void *)X509_STORE_load_locations, dlsym(RTLD_DEFAULT, "X509_STORE_load_locations"),
                     (void *)dlsym};
    for (int i = 0; i < 3; i++) {
        Dl_info info;
        puts(dladdr(found[i], &info) ? info.dli_fname : "nowhere");
    }
}

static void handler(int number) {
    printf("%d %d\n", number, strange_load());
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    file = count > 2 ? arguments[2] : NULL;
    if (strcmp(mode, "coroutines") == 0)
        coroutines();
    else if (strcmp(mode, "lookup") == 0)
        own_lookup();
    else if (strcmp(mode, "names") == 0)
        by_name();
    else if (strcmp(mode, "where") == 0)
        where();
    else if (strcmp(mode, "fragments") == 0)
        fragments();
    else if (strcmp(mode, "store") == 0 && count > 3)
        in_store(arguments[3]);
    else if (strcmp(mode, "signal") == 0) {
        signal(SIGUSR1, handler);
        raise(SIGUSR1);
    } else if (strcmp(mode, "frame") == 0)
        printf("%d\n", with_frame() != NULL);
    else if (strcmp(mode, "default") == 0) {
        SSL_CTX *context = SSL_CTX_new(TLS_client_method());
        printf("%d\n", SSL_CTX_set_default_verify_paths(context));
        SSL_CTX_free(context);
    } else if (strcmp(mode, "plugin") == 0 && count > 3) {
        printf("%d\n", strange_load());
        void *plugin = dlopen(arguments[3], RTLD_NOW);
        puts(plugin ? "loaded" : dlerror());
    } else
        return 2;
    return fflush(stdout) != 0;
}
