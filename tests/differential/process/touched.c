/*
 * touched HOW OPERATION: a store of bundle.pem, and what a program does to it after the file has changed, in a folder
 * with the files of pki.py. HOW is `anew` (a store made after the change) or `kept`.
 */
#include "pki.h"
#include <string.h>
#include <unistd.h>

static X509 *leaves[2];
static X509_STORE *store;
static X509_LOOKUP *file_lookup;
static char bundle[4096], other[4096];

static int own_check(X509_STORE_CTX *ctx)
{
    (void)ctx;
    return 1;
}

static void put(const char *from)
{
    unlink("new");
    if (symlink(from, "new") != 0 || rename("new", "bundle.pem") != 0)
        exit(4);
}

static void say(const char *when)
{
    printf("%s: %d %d\n", when, verified(store, leaves[0]), verified(store, leaves[1]));
}

static void load(void)
{
    store = X509_STORE_new();
    printf("loads: %d\n", X509_STORE_load_locations(store, bundle, NULL));
    file_lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
}

static void list(int take)
{
    STACK_OF(X509_OBJECT) *all;

    X509_STORE_lock(store);
    all = X509_STORE_get0_objects(store);
    printf("%d objects\n", sk_X509_OBJECT_num(all));
    while (take && sk_X509_OBJECT_num(all) > 0)
        X509_OBJECT_free(sk_X509_OBJECT_pop(all));
    X509_STORE_unlock(store);
}

static void operate(const char *operation)
{
    if (strcmp(operation, "add") == 0) {
        X509 *x = read_certificate("root-b.pem");

        printf("adds: %d\n", X509_STORE_add_cert(store, x));
        X509_free(x);
    } else if (strcmp(operation, "load") == 0)
        printf("loads: %d\n", X509_STORE_load_locations(store, other, NULL));
    else if (strcmp(operation, "lookup") == 0)
        printf("loads: %d\n", X509_LOOKUP_load_file(file_lookup, other, X509_FILETYPE_PEM));
    else if (strcmp(operation, "der") == 0)
        printf("loads: %d\n", X509_load_cert_file(file_lookup, "one.der", X509_FILETYPE_ASN1));
    else if (strcmp(operation, "list") == 0)
        list(0);
    else if (strcmp(operation, "take") == 0)
        list(1);
    else if (strcmp(operation, "function") == 0)
        X509_STORE_set_check_revocation(store, own_check);
    else
        exit(2);
}

int main(int argc, char **argv)
{
    int is_kept = argc == 3 && strcmp(argv[1], "kept") == 0;

    if (argc != 3 || getcwd(bundle, 2048) == NULL)
        return 2;
    snprintf(other, sizeof(other), "%.2000s/root-b.pem", bundle);
    strcat(bundle, "/bundle.pem");
    leaves[0] = read_certificate("leaf0.pem");
    leaves[1] = read_certificate("leaf1.pem");
    if (is_kept) {
        put("root-a.pem");
        load();
        say("loaded");
    }
    put("root-c.pem");
    if (!is_kept)
        load();
    say("changed");
    operate(argv[2]);
    say("touched");
    if (is_kept)
        put("root-a.pem"); /* what has left does not come back */
    say("then");
    X509_STORE_free(store);
    X509_free(leaves[0]);
    X509_free(leaves[1]);
    return 0;
}
