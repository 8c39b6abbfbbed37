/* The program's own lookup methods and store callbacks. Each call to them is
 * printed: a library that asks them more or less often would be noticed. */
#include "driver.h"
#include <stdio.h>
#include <string.h>

/* Callbacks take a name that is const from 3.0 on, and certificates that are
 * from 4.0 on. */
#if V3
typedef const X509_NAME *const_name;
#else
typedef X509_NAME *const_name;
#endif
#if V4
typedef const X509 *const_cert;
typedef const X509_STORE_CTX *const_ctx;
#else
typedef X509 *const_cert;
typedef X509_STORE_CTX *const_ctx;
#endif

typedef struct {
    X509_LOOKUP_METHOD *method;
    X509 *cert;
    int adds; /* also adds what it found to the store, as by_dir does */
} custom;

static custom customs[1024];
static int custom_count;

static int custom_find(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const_name name,
                       X509_OBJECT *out)
{
    custom *c = X509_LOOKUP_get_method_data(lookup);
    int same = type == X509_LU_X509 && X509_NAME_cmp(name, X509_get_subject_name(c->cert)) == 0;

    say("custom asked for %d same %d", (int)type, same);
    if (!same)
        return 0;
    if (c->adds)
        X509_STORE_add_cert(X509_LOOKUP_get_store(lookup), c->cert);
    return X509_OBJECT_set1_X509(out, c->cert);
}

/* custom STORE CERT ADDS: a lookup that knows exactly one certificate */
static void custom_add(args *a)
{
    custom *c = &customs[custom_count++];
    X509_LOOKUP *lookup;

    if (custom_count > 1024)
        die("too many custom lookups");
    c->method = X509_LOOKUP_meth_new("custom");
    c->cert = cert_at(str(a, 2));
    X509_up_ref(c->cert);
    c->adds = (int)num(a, 3);
    X509_LOOKUP_meth_set_get_by_subject(c->method, custom_find);
    lookup = X509_STORE_add_lookup(store_at(a, 1), c->method);
    X509_LOOKUP_set_method_data(lookup, c);
    say("custom %d", lookup != NULL);
}

void custom_free(void)
{
    int i, s;

    /* Stores use the method until they are gone. */
    for (s = 0; s < SLOTS; s++) {
        SSL_CTX_free(contexts[s]);
        contexts[s] = NULL;
        X509_STORE_free(stores[s]);
        stores[s] = NULL;
    }
    for (i = 0; i < custom_count; i++) {
        X509_LOOKUP_meth_free(customs[i].method);
        X509_free(customs[i].cert);
    }
}

static int issuer_hook(X509 **issuer, X509_STORE_CTX *ctx, const_cert x)
{
    int found = X509_STORE_CTX_get1_issuer(issuer, ctx, x);

    say("get_issuer for %s: %d %s", print_of((X509 *)x), found, found > 0 ? print_of(*issuer) : "-");
    return found;
}

static int issued_hook(X509_STORE_CTX *ctx, const_cert x, const_cert issuer)
{
    int e = X509_check_issued((X509 *)issuer, (X509 *)x);

    (void)ctx;
    say("check_issued %s by %s: %d", print_of((X509 *)x),
        print_of((X509 *)issuer), e);
    return e == X509_V_OK;
}

static STACK_OF(X509) *certs_hook(const_ctx ctx, const_name name)
{
    STACK_OF(X509) *certs = X509_STORE_CTX_get1_certs(ctx, name);

    say_certs("lookup_certs", certs);
    return certs;
}

static int store_event(int ok, X509_STORE_CTX *ctx)
{
    say("store callback %d %d at %d", ok, X509_STORE_CTX_get_error(ctx),
        X509_STORE_CTX_get_error_depth(ctx));
    return ok;
}

/* hook STORE issuer|issued|certs|verify|none */
static void hook(args *a)
{
    X509_STORE *store = store_at(a, 1);
    const char *which = str(a, 2);

    if (strcmp(which, "issuer") == 0)
        X509_STORE_set_get_issuer(store, issuer_hook);
    else if (strcmp(which, "issued") == 0)
        X509_STORE_set_check_issued(store, issued_hook);
    else if (strcmp(which, "certs") == 0)
        X509_STORE_set_lookup_certs(store, certs_hook);
    else if (strcmp(which, "verify") == 0)
        X509_STORE_set_verify_cb(store, store_event);
    else
        die("hook %s", which);
    say("hook %s", which);
}

const command custom_commands[] = {
    { "custom", custom_add },
    { "hook", hook },
    { NULL, NULL },
};
