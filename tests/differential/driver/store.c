/* Stores: making, adding by hand, enumerating, and changing what was got from one. */
#include "driver.h"
#include <stdio.h>
#include <string.h>

/* bag SLOT FILE: the certificates of a PEM file, read one by one (not a load) */
static void bag_read(args *a)
{
    BIO *in = BIO_new_file(str(a, 2), "r");
    int i = slot(a, 1);
    X509 *x;

    if (in == NULL)
        die("cannot open %s", str(a, 2));
    sk_X509_pop_free(bags[i], X509_free);
    bags[i] = sk_X509_new_null();
    while ((x = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
        sk_X509_push(bags[i], x);
    BIO_free(in);
    ERR_clear_error();
    say("bag %d", sk_X509_num(bags[i]));
}

static void crl_bag_read(args *a)
{
    BIO *in = BIO_new_file(str(a, 2), "r");
    int i = slot(a, 1);
    X509_CRL *crl;

    if (in == NULL)
        die("cannot open %s", str(a, 2));
    sk_X509_CRL_pop_free(crls[i], X509_CRL_free);
    crls[i] = sk_X509_CRL_new_null();
    while ((crl = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL)) != NULL)
        sk_X509_CRL_push(crls[i], crl);
    BIO_free(in);
    ERR_clear_error();
    say("crls %d", sk_X509_CRL_num(crls[i]));
}

static void store_new(args *a)
{
    int i = slot(a, 1);

    X509_STORE_free(stores[i]);
    memset(lookups, 0, sizeof(lookups)); /* they went with their store */
    stores[i] = X509_STORE_new();
    say("store_new %d", stores[i] != NULL);
}

static void store_free(args *a)
{
    X509_STORE_free(store_at(a, 1));
    stores[slot(a, 1)] = NULL;
    say("store_free");
}

/* add STORE CERT */
static void store_add(args *a)
{
    say("add_cert %d", X509_STORE_add_cert(store_at(a, 1), cert_at(str(a, 2))));
}

/* add_crl STORE BAG INDEX */
static void store_add_crl(args *a)
{
    say("add_crl %d", X509_STORE_add_crl(store_at(a, 1),
                                         sk_X509_CRL_value(crls[slot(a, 2)], (int)num(a, 3))));
}

static void store_objects(args *a)
{
    say_objects("objects", X509_STORE_get0_objects(store_at(a, 1)));
}

#if V33
static void store_objects1(args *a)
{
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get1_objects(store_at(a, 1));

    say_objects("objects1", objects);
    sk_X509_OBJECT_pop_free(objects, X509_OBJECT_free);
}
#endif

#if V3
static void store_all(args *a)
{
    STACK_OF(X509) *all = X509_STORE_get1_all_certs(store_at(a, 1));

#if V4
    /* Hash table order: printed as the set it is. */
    STACK_OF(X509_OBJECT) *objects = sk_X509_OBJECT_new_null();
    int i;

    for (i = 0; i < sk_X509_num(all); i++) {
        X509_OBJECT *o = X509_OBJECT_new();

        X509_OBJECT_set1_X509(o, sk_X509_value(all, i));
        sk_X509_OBJECT_push(objects, o);
    }
    say_objects("all", objects);
    sk_X509_OBJECT_pop_free(objects, X509_OBJECT_free);
#else
    say_certs("all", all);
#endif
    sk_X509_pop_free(all, X509_free);
}

#endif

/* find STORE CERT: the helpers that search the stack of objects by subject */
static void store_find(args *a)
{
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store_at(a, 1));
    X509_NAME *name = (X509_NAME *)X509_get_subject_name(cert_at(str(a, 2)));
    X509_OBJECT *o;

#if !V4
    say("idx_by_subject %d", X509_OBJECT_idx_by_subject(objects, X509_LU_X509, name));
#endif
    o = X509_OBJECT_retrieve_by_subject(objects, X509_LU_X509, name);
    say("retrieve_by_subject %s", o == NULL ? "none" : print_of(X509_OBJECT_get0_X509(o)));
}

static X509_STORE_CTX *ctx_for(X509_STORE *store)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();

    if (ctx == NULL || !X509_STORE_CTX_init(ctx, store, NULL, NULL))
        die("X509_STORE_CTX_init");
    return ctx;
}

/* subject STORE CERT: what the store has for the subject of that certificate */
static void store_subject(args *a)
{
    X509_STORE_CTX *ctx = ctx_for(store_at(a, 1));
    X509_NAME *name = (X509_NAME *)X509_get_subject_name(cert_at(str(a, 2)));
    STACK_OF(X509) *certs = X509_STORE_CTX_get1_certs(ctx, name);

    say_certs("get1_certs", certs);
    sk_X509_pop_free(certs, X509_free);
    X509_STORE_CTX_free(ctx);
}

/* crls_of STORE CERT */
static void store_crls(args *a)
{
    X509_STORE_CTX *ctx = ctx_for(store_at(a, 1));
    X509_NAME *name = (X509_NAME *)X509_get_subject_name(cert_at(str(a, 2)));
    STACK_OF(X509_CRL) *list = X509_STORE_CTX_get1_crls(ctx, name);
    int i;

    printf("%d get1_crls %d:", line, list == NULL ? -1 : sk_X509_CRL_num(list));
    for (i = 0; i < sk_X509_CRL_num(list); i++)
        printf(" %s", crl_print_of(sk_X509_CRL_value(list, i)));
    putchar('\n');
    sk_X509_CRL_pop_free(list, X509_CRL_free);
    X509_STORE_CTX_free(ctx);
}

/* object STORE CERT: X509_STORE_CTX_get_by_subject and its allocating form */
static void store_object(args *a)
{
    X509_STORE_CTX *ctx = ctx_for(store_at(a, 1));
    X509_NAME *name = (X509_NAME *)X509_get_subject_name(cert_at(str(a, 2)));
    X509_OBJECT *o = X509_OBJECT_new(), *p;
    int found = X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, name, o);

    say("get_by_subject %d %s", found, found > 0 ? print_of(X509_OBJECT_get0_X509(o)) : "-");
    X509_OBJECT_free(o);
    p = X509_STORE_CTX_get_obj_by_subject(ctx, X509_LU_X509, name);
    say("get_obj_by_subject %s", p == NULL ? "none" : print_of(X509_OBJECT_get0_X509(p)));
    X509_OBJECT_free(p);
    X509_STORE_CTX_free(ctx);
}

/* issuer STORE CERT */
static void store_issuer(args *a)
{
    X509_STORE_CTX *ctx = ctx_for(store_at(a, 1));
    X509 *issuer = NULL;
    int found = X509_STORE_CTX_get1_issuer(&issuer, ctx, cert_at(str(a, 2)));

    say("get1_issuer %d %s", found, found > 0 ? print_of(issuer) : "-");
    if (found > 0)
        X509_free(issuer);
    X509_STORE_CTX_free(ctx);
}

/*
 * change STORE CERT reject|trust|alias|clear: does to the first object of that
 * subject what `openssl x509 -addreject` does to a certificate.
 */
static void store_change(args *a)
{
    X509_STORE_CTX *ctx = ctx_for(store_at(a, 1));
    X509_NAME *name = (X509_NAME *)X509_get_subject_name(cert_at(str(a, 2)));
    STACK_OF(X509) *certs = X509_STORE_CTX_get1_certs(ctx, name);
    X509 *x = certs == NULL || sk_X509_num(certs) == 0 ? NULL : sk_X509_value(certs, 0);
    const char *how = str(a, 3);
    int done = -1;

    if (x != NULL && strcmp(how, "reject") == 0)
        done = X509_add1_reject_object(x, OBJ_nid2obj(NID_server_auth));
    else if (x != NULL && strcmp(how, "trust") == 0)
        done = X509_add1_trust_object(x, OBJ_nid2obj(NID_email_protect));
    else if (x != NULL && strcmp(how, "alias") == 0)
        done = X509_alias_set1(x, (const unsigned char *)"changed", 7);
    else if (x != NULL && strcmp(how, "clear") == 0) {
        X509_trust_clear(x);
        X509_reject_clear(x);
        done = 1;
    }
    say("change %s %d", how, done);
    sk_X509_pop_free(certs, X509_free);
    X509_STORE_CTX_free(ctx);
}

/* Verification parameters of the store itself. */
static void store_flags(args *a)
{
    say("set_flags %d", X509_STORE_set_flags(store_at(a, 1), (unsigned long)num(a, 2)));
}

const command store_commands[] = {
    { "bag", bag_read },
    { "crls", crl_bag_read },
    { "store", store_new },
    { "store_free", store_free },
    { "add", store_add },
    { "add_crl", store_add_crl },
    { "objects", store_objects },
#if V33
    { "objects1", store_objects1 },
#endif
#if V3
    { "all", store_all },
#endif
    { "find", store_find },
    { "subject", store_subject },
    { "crls_of", store_crls },
    { "object", store_object },
    { "issuer", store_issuer },
    { "change", store_change },
    { "flags", store_flags },
    { NULL, NULL },
};
