/* Lookups asked by the program itself, and what a search leaves behind in errno. */
#include "driver.h"
#include <errno.h>
#include <string.h>

static X509_LOOKUP *lookup_at(const args *a, int i)
{
    return lookups[slot(a, i)];
}

static X509_NAME *subject_at(const args *a, int i)
{
    return (X509_NAME *)X509_get_subject_name(cert_at(str(a, i)));
}

static const char *found_in(X509_OBJECT *o)
{
    X509 *x = X509_OBJECT_get0_X509(o);

    return x == NULL ? "-" : print_of(x);
}

/* What a lookup puts into an object is the store's: the object gets a reference of its own before it is freed. */
static void free_object(X509_OBJECT *o)
{
    if (X509_OBJECT_get_type(o) != X509_LU_NONE)
        X509_OBJECT_up_ref_count(o);
    X509_OBJECT_free(o);
}

/* ask LOOKUP CERT ...: X509_LOOKUP_by_subject for each of these subjects, all with one object */
static void ask(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);
    X509_OBJECT *o = X509_OBJECT_new();
    int i;

    for (i = 2; lookup != NULL && i < a->n; i++) {
        int found = X509_LOOKUP_by_subject(lookup, X509_LU_X509, subject_at(a, i), o);

        say("by_subject %d %s", found, found_in(o));
    }
    free_object(o);
}

#if V3
/* ask_ex LOOKUP CERT: with the chosen library context and property query */
static void ask_ex(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);
    X509_OBJECT *o = X509_OBJECT_new();

    if (lookup != NULL)
        say("by_subject_ex %d", X509_LOOKUP_by_subject_ex(lookup, X509_LU_X509, subject_at(a, 2), o, libctx, propq));
    say("by_subject_ex %s", found_in(o));
    free_object(o);
}

/* verify_ex STORE CERT: in the chosen library context, in which by_dir then parses what it finds */
static void verify_ex(args *a)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new_ex(libctx, propq);

    if (ctx == NULL || !X509_STORE_CTX_init(ctx, store_at(a, 1), cert_at(str(a, 2)), NULL))
        die("X509_STORE_CTX_init");
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), 1780315200L); /* as in verify.c */
    say("verify_ex %d", X509_verify_cert(ctx));
    say("verify_ex error %d", X509_STORE_CTX_get_error(ctx));
    say_certs("chain", X509_STORE_CTX_get0_chain(ctx));
    X509_STORE_CTX_free(ctx);
}
#endif

/* meth_ctrl LOOKUP DIRECTORY: as X509_LOOKUP_ctrl with X509_L_ADD_DIR, but by the method's own function */
static void meth_ctrl(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("meth_ctrl %d", X509_LOOKUP_meth_get_ctrl(X509_LOOKUP_hash_dir())(lookup, X509_L_ADD_DIR, str(a, 2),
                                                                              X509_FILETYPE_PEM, NULL));
}

static X509_LOOKUP_ctrl_fn real_ctrl;
static const char *other_directory;

static int turned(X509_LOOKUP *lookup, int command, const char *directory, long type, char **ret)
{
    return real_ctrl(lookup, command, command == X509_L_ADD_DIR ? other_directory : directory, type, ret);
}

/* turn DIRECTORY: whatever directory is added from now on, this one is ("-": no more) */
static void turn(args *a)
{
    X509_LOOKUP_METHOD *method = X509_LOOKUP_hash_dir();

    if (real_ctrl == NULL)
        real_ctrl = X509_LOOKUP_meth_get_ctrl(method);
    free((char *)other_directory);
    other_directory = str(a, 1) == NULL ? NULL : strdup(str(a, 1));
    say("turn %d", X509_LOOKUP_meth_set_ctrl(method, other_directory == NULL ? real_ctrl : turned));
}

/* errno STORE CERT: what a search for that subject leaves there */
static void error_number(args *a)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_OBJECT *o = X509_OBJECT_new();
    int found, left;

    if (ctx == NULL || !X509_STORE_CTX_init(ctx, store_at(a, 1), NULL, NULL))
        die("X509_STORE_CTX_init");
    errno = 0;
    found = X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, subject_at(a, 2), o);
    left = errno;
    say("get_by_subject %d leaves %s", found, left == 0 ? "nothing" : strerror(left));
    errno = 0;
    X509_OBJECT_free(o);
    X509_STORE_CTX_free(ctx);
}

const command lookup_commands[] = {
    { "ask", ask },
    { "meth_ctrl", meth_ctrl },
    { "turn", turn },
#if V3
    { "ask_ex", ask_ex },
    { "verify_ex", verify_ex },
#endif
    { "errno", error_number },
    { NULL, NULL },
};
