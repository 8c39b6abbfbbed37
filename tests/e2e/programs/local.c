/* A program that brings libssl in by dlopen(RTLD_LOCAL): its calls go through pointers, so only libssl's own calls into
 * libcrypto can be intercepted. Prints return value and number of certificates. */
#include <dlfcn.h>
#include <stdio.h>

typedef void *(*pointer_call)(const void *);
typedef int (*int_call)(const void *);

static void *need(void *library, const char *name) {
    void *symbol = library ? dlsym(library, name) : NULL;
    if (symbol == NULL)
        fprintf(stderr, "%s: %s\n", name, dlerror());
    return symbol;
}

int main(void) {
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL), *crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    pointer_call new_context = (pointer_call)need(ssl, "SSL_CTX_new"),
        method = (pointer_call)need(ssl, "TLS_client_method");
    pointer_call store_of = (pointer_call)need(ssl, "SSL_CTX_get_cert_store");
    pointer_call objects = (pointer_call)need(crypto, "X509_STORE_get1_all_certs");
    int_call defaults = (int_call)need(ssl, "SSL_CTX_set_default_verify_paths"),
        count = (int_call)need(crypto, "OPENSSL_sk_num");
    if (!new_context || !method || !store_of || !objects || !defaults || !count)
        return 2;
    for (int turn = 0; turn < 2; turn++) {
        void *ctx = new_context(method(NULL));
        int loaded = defaults(ctx);
        printf("dlopen: %d %d\n", loaded, count(objects(store_of(ctx))));
    }
    return 0;
}
