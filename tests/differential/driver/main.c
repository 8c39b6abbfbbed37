/* Runs the script, and prints the error queue after each command. */
#include "driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

X509_STORE *stores[SLOTS];
SSL_CTX *contexts[SLOTS];
X509_LOOKUP *lookups[SLOTS];
STACK_OF(X509) *bags[SLOTS];
STACK_OF(X509_CRL) *crls[SLOTS];
STACK_OF(X509_NAME) *names[SLOTS];
void *libctx;
char *propq;

static const command *const tables[] = {
    load_commands, ssl_commands, store_commands, verify_commands, name_commands,
    tls_commands, file_commands, custom_commands, lookup_commands, NULL,
};

X509_STORE *store_at(const args *a, int i)
{
    X509_STORE *store = stores[slot(a, i)];

    if (store == NULL)
        die("store slot %ld is empty", num(a, i));
    return store;
}

SSL_CTX *ctx_at(const args *a, int i)
{
    SSL_CTX *ctx = contexts[slot(a, i)];

    if (ctx == NULL)
        die("context slot %ld is empty", num(a, i));
    return ctx;
}

X509 *cert_at(const char *reference)
{
    int bag, index;

    if (reference == NULL || sscanf(reference, "%d:%d", &bag, &index) != 2 || bag < 0
            || bag >= SLOTS || index < 0 || index >= sk_X509_num(bags[bag]))
        die("no certificate %s", reference == NULL ? "-" : reference);
    return sk_X509_value(bags[bag], index);
}

static void free_all(void)
{
    int i;

    custom_free();
    name_free();
    for (i = 0; i < SLOTS; i++) {
        SSL_CTX_free(contexts[i]);
        X509_STORE_free(stores[i]);
        sk_X509_pop_free(bags[i], X509_free);
        sk_X509_CRL_pop_free(crls[i], X509_CRL_free);
    }
#if V3
    OSSL_LIB_CTX_free(libctx);
#endif
    free(propq);
}

/* The library comes in at the start of main, in place of LD_PRELOAD. */
static void attach(const char *library)
{
    void *handle = library == NULL ? NULL : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    int (*attach_function)(void) = handle == NULL ? NULL : (int (*)(void))dlsym(handle, "windlass_preload_attach");
    int (*excuse)(int), state = 0;

    *(void **)&excuse = handle == NULL ? NULL : dlsym(handle, "windlass_preload_excuse");
    /* No address of a function of OpenSSL was taken so far. */
    if (library != NULL && (attach_function == NULL || (state = attach_function()) < 0 || (state && excuse(1) != 1)))
        die("cannot attach %s: %s", library, dlerror());
}

int main(int argc, char **argv)
{
    FILE *script = argc > 1 ? fopen(argv[1], "re") : stdin;

    if (script == NULL) {
        perror(argv[1]);
        return 3;
    }
    attach(getenv("ATTACHED_LIBRARY"));
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    run_script(script, tables, drain_errors);
    fclose(script);
    free_all();
    printf("end after %d lines\n", line);
    return 0;
}
