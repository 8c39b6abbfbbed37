/* The loading functions of libssl, library contexts, and stores of contexts. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

/* ctx SLOT [propq]: propq passes the property query on as well */
static void ctx_new(args *a)
{
    int i = slot(a, 1);

    SSL_CTX_free(contexts[i]);
#if V3
    contexts[i] = SSL_CTX_new_ex(libctx, a->n > 2 ? propq : NULL, TLS_method());
#else
    contexts[i] = SSL_CTX_new(TLS_method());
#endif
    say("ctx_new %d", contexts[i] != NULL);
}

static void ctx_free(args *a)
{
    SSL_CTX_free(ctx_at(a, 1));
    contexts[slot(a, 1)] = NULL;
    say("ctx_free");
}

/* ctx_store CTX STORE: the context's own store becomes reachable as a slot */
static void ctx_store(args *a)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx_at(a, 1));
    int i = slot(a, 2);

    X509_STORE_up_ref(store);
    X509_STORE_free(stores[i]);
    stores[i] = store;
    say("ctx_store %d", store != NULL);
}

static void ctx_set_store(args *a)
{
    SSL_CTX_set1_cert_store(ctx_at(a, 1), store_at(a, 2));
    say("set1_cert_store");
}

static void ctx_set_verify_store(args *a)
{
    say("set1_verify_cert_store %d",
        (int)SSL_CTX_set1_verify_cert_store(ctx_at(a, 1), store_at(a, 2)));
}

static void ctx_default(args *a)
{
    say("set_default_verify_paths %d", SSL_CTX_set_default_verify_paths(ctx_at(a, 1)));
}

static void ctx_default_file(args *a)
{
    say("set_default_verify_file %d", SSL_CTX_set_default_verify_file(ctx_at(a, 1)));
}

static void ctx_default_dir(args *a)
{
    say("set_default_verify_dir %d", SSL_CTX_set_default_verify_dir(ctx_at(a, 1)));
}

static void ctx_locations(args *a)
{
    say("load_verify_locations %d",
        SSL_CTX_load_verify_locations(ctx_at(a, 1), str(a, 2), str(a, 3)));
}

#if V3
static void ctx_default_store(args *a)
{
    say("set_default_verify_store %d", SSL_CTX_set_default_verify_store(ctx_at(a, 1)));
}

static void ctx_file(args *a)
{
    say("load_verify_file %d", SSL_CTX_load_verify_file(ctx_at(a, 1), str(a, 2)));
}

static void ctx_dir(args *a)
{
    say("load_verify_dir %d", SSL_CTX_load_verify_dir(ctx_at(a, 1), str(a, 2)));
}

static void ctx_uri(args *a)
{
    say("load_verify_store %d", SSL_CTX_load_verify_store(ctx_at(a, 1), str(a, 2)));
}

/* libctx new|default|none: what the commands with a library context pass on */
static void libctx_choose(args *a)
{
    const char *which = str(a, 1);

    if (strcmp(which, "none") == 0) {
        OSSL_LIB_CTX_free(libctx);
        libctx = NULL;
    } else if (strcmp(which, "new") == 0) {
        OSSL_LIB_CTX_free(libctx);
        libctx = OSSL_LIB_CTX_new();
    } else if (strcmp(which, "default") == 0) {
        OSSL_LIB_CTX_set0_default(libctx);
    } else if (strcmp(which, "global") == 0) {
        OSSL_LIB_CTX_set0_default(OSSL_LIB_CTX_get0_global_default());
    }
    say("libctx %s", which);
}

static void propq_choose(args *a)
{
    free(propq);
    propq = str(a, 1) == NULL ? NULL : strdup(str(a, 1));
    say("propq");
}
#endif

/* older_errors N: what an earlier failure of the program left in the queue */
static void older_errors(args *a)
{
    long i;

    for (i = 0; i < num(a, 1); i++) {
#if V3
        ERR_new();
        ERR_set_debug("program.c", (int)(100 + i), "earlier");
        ERR_set_error(ERR_LIB_USER, 100 + (int)i, "older %d", (int)i);
#else
        ERR_put_error(ERR_LIB_USER, 1, 100 + (int)i, "program.c", 100 + (int)i);
        ERR_add_error_data(1, "older");
#endif
    }
    say("older_errors");
}

static void error_mark(args *a)
{
    (void)a;
    say("mark %d", ERR_set_mark());
}

static void error_pop(args *a)
{
    (void)a;
    say("pop_to_mark %d", ERR_pop_to_mark());
}

const command ssl_commands[] = {
    { "ctx", ctx_new },
    { "ctx_free", ctx_free },
    { "ctx_store", ctx_store },
    { "ctx_set_store", ctx_set_store },
    { "ctx_set_verify_store", ctx_set_verify_store },
    { "ctx_default", ctx_default },
    { "ctx_default_file", ctx_default_file },
    { "ctx_default_dir", ctx_default_dir },
    { "ctx_locations", ctx_locations },
#if V3
    { "ctx_default_store", ctx_default_store },
    { "ctx_file", ctx_file },
    { "ctx_dir", ctx_dir },
    { "ctx_uri", ctx_uri },
    { "libctx", libctx_choose },
    { "propq", propq_choose },
#endif
    { "older_errors", older_errors },
    { "mark", error_mark },
    { "pop", error_pop },
    { NULL, NULL },
};
