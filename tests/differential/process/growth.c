/*
 * What a store keeps of calls that bring it nothing new.
 *
 *     growth FOLDER CALLS
 *
 * FOLDER holds bundle.pem, extra.pem with a root that is not in it, and
 * leaf.pem of a root of the bundle. Prints, for each kind of call, how many
 * bytes more are allocated after CALLS of them than after the first few.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */
#define FEW 200

static X509 *extra, *leaf;
static X509_STORE *store;

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "growth: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

static void add(void)
{
    if (!X509_STORE_add_cert(store, extra))
        exit(4);
}

static void verify(void)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();

    if (!X509_STORE_CTX_init(ctx, store, leaf, NULL))
        exit(4);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    if (X509_verify_cert(ctx) != 1)
        exit(5);
    X509_STORE_CTX_free(ctx);
}

static void add_and_verify(void)
{
    add();
    verify();
}

static void load(void)
{
    if (!X509_STORE_load_locations(store, "bundle.pem", NULL))
        exit(4);
}

static void load_and_verify(void)
{
    load();
    verify();
}

static void load_and_add(void)
{
    load();
    add();
}

static void load_and_list(void)
{
    load();
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    sk_X509_pop_free(X509_STORE_get1_all_certs(store), X509_free);
#else
    X509_STORE_get0_objects(store);
#endif
}

static const struct {
    const char *name;
    void (*call)(void);
    int part;
} kinds[] = {
    {"add", add, 1},
    {"add and verify", add_and_verify, 20},
    {"load", load, 20},
    {"load and verify", load_and_verify, 20},
    {"load and add", load_and_add, 20},
    {"load and list", load_and_list, 20},
};

int main(int argc, char **argv)
{
    size_t kind;
    long i, calls, before;

    if (argc != 3 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: growth FOLDER CALLS\n");
        return 2;
    }
    calls = atol(argv[2]);
    extra = read_certificate("extra.pem");
    leaf = read_certificate("leaf.pem");
    for (kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
        store = X509_STORE_new();
        load();
        for (i = 0; i < FEW; i++)
            kinds[kind].call();
        before = (long)mallinfo2().uordblks;
        for (i = 0; i < calls / kinds[kind].part; i++)
            kinds[kind].call();
        printf("%s: %ld\n", kinds[kind].name, (long)mallinfo2().uordblks - before);
        X509_STORE_free(store);
        ERR_clear_error();
    }
    X509_free(extra);
    X509_free(leaf);
    return 0;
}
