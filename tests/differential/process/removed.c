/*
 * A program that takes a root out of a store's stack trusts it no more, and
 * the others as before.
 *
 *     removed FOLDER
 *
 * FOLDER holds bundle.pem, gone.pem with the root that is taken out,
 * again.pem with it and one more, leaf-0.pem of it, and leaf-1.pem of another.
 */
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "removed: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

static void verify(X509_STORE *store, X509 *leaf)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();

    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    printf("verified %d", X509_verify_cert(ctx));
    printf(", %s\n", X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    X509_STORE_CTX_free(ctx);
}

static void take_out(X509_STORE *store, X509 *gone)
{
    STACK_OF(X509_OBJECT) *objects;
    int i;

    X509_STORE_lock(store);
    objects = X509_STORE_get0_objects(store);
    for (i = sk_X509_OBJECT_num(objects) - 1; i >= 0; i--)
        if (X509_cmp(X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i)), gone) == 0)
            X509_OBJECT_free(sk_X509_OBJECT_delete(objects, i));
    printf("left %d\n", sk_X509_OBJECT_num(objects));
    X509_STORE_unlock(store);
}

int main(int argc, char **argv)
{
    X509_STORE *store;
    X509 *gone, *leaves[2];
    static const char *later[] = {"again.pem", "bundle.pem"};
    int early;

    if (argc != 2 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: removed FOLDER\n");
        return 2;
    }
    gone = read_certificate("gone.pem");
    leaves[0] = read_certificate("leaf-0.pem");
    leaves[1] = read_certificate("leaf-1.pem");
    for (early = 0; early < 4; early++) {
        store = X509_STORE_new();
        printf("loaded %d\n", X509_STORE_load_locations(store, "bundle.pem", NULL));
        if (early % 2)
            verify(store, leaves[0]);
        take_out(store, gone);
        verify(store, leaves[0]);
        verify(store, leaves[1]);
        printf("loaded %d\n", X509_STORE_load_locations(store, later[early / 2], NULL));
        verify(store, leaves[0]);
        X509_STORE_free(store);
    }
    X509_free(gone);
    X509_free(leaves[0]);
    X509_free(leaves[1]);
    return 0;
}
