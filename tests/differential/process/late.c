/*
 * late BUNDLE DIRECTORY LEAF ...: the program's own lookup loads BUNDLE while the first search is on its way to
 * DIRECTORY. Each leaf is verified twice.
 */
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
typedef const X509_NAME *const_name;
#else
typedef X509_NAME *const_name;
#endif

static const char *bundle;

static int load(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const_name name, X509_OBJECT *out)
{
    (void)type, (void)name, (void)out;
    if (bundle != NULL)
        printf("loads %d\n", X509_STORE_load_locations(X509_LOOKUP_get_store(lookup), bundle, NULL));
    bundle = NULL;
    return 0;
}

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "late: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

static void verify(X509_STORE *store, const char *path)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *leaf = read_certificate(path);
    int result;

    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    result = X509_verify_cert(ctx);
    printf("%s %d %d\n", path, result, X509_STORE_CTX_get_error(ctx));
    X509_STORE_CTX_free(ctx);
    X509_free(leaf);
}

int main(int argc, char **argv)
{
    X509_STORE *store = X509_STORE_new();
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("late");

    if (argc < 4)
        return 2;
    bundle = argv[1];
    X509_LOOKUP_meth_set_get_by_subject(method, load);
    X509_STORE_add_lookup(store, method);
    X509_STORE_load_locations(store, NULL, argv[2]);
    for (int round = 0; round < 2; round++)
        for (int i = 3; i < argc; i++)
            verify(store, argv[i]);
    printf("holds %d\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    X509_STORE_free(store);
    X509_LOOKUP_meth_free(method);
    return 0;
}
