/*
 * objects FILE COUNT, with a file of COUNT roots: allocations fail while the objects of a store are exchanged or put in
 * order. The process lives, and when memory is back no root is missing.
 */
#include "failing.h"

#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than the library has in reserve for one allocation, and than libcrypto asks for. */
#define TOO_LARGE 8193

static int wanted, bad;

/* Each root once, however often it is listed. */
static void expect(X509_STORE *store, const char *what)
{
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    int at, other, found = 0;

    for (at = 0; at < sk_X509_OBJECT_num(objects); at++) {
        X509 *one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, at));

        for (other = 0; other < at; other++)
            if (X509_cmp(one, X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, other))) == 0)
                break;
        found += other == at;
    }
    if (found != wanted) {
        printf("%s: %d roots\n", what, found);
        bad = 1;
    }
}

static X509_STORE *loaded(const char *file, int times)
{
    X509_STORE *store = X509_STORE_new();

    while (times-- > 0)
        if (X509_STORE_load_locations(store, file, NULL) != 1)
            exit(2);
    return store;
}

/* It gives its shared certificates up before libcrypto reads a configuration. */
static void exchanged(const char *file)
{
    X509_STORE *store = loaded(file, 1);

    set_plan((struct plan){ LARGE, TOO_LARGE, 0 });
    arm_failing(1);
    CONF_modules_load_file("none.cnf", NULL, CONF_MFLAGS_IGNORE_MISSING_FILE);
    arm_failing(0);
    expect(store, "exchanged");
    X509_STORE_free(store);
}

/* 4.0 keeps no order, and loses its objects itself when it makes a stack of its table without memory. */
static void arranged(const char *file)
{
    X509_STORE *store;
    uint64_t at, made;
    char what[64];

    for (at = 0, made = 1; at < made; at++) {
        store = loaded(file, 2);
        set_plan((struct plan){ ONE, at, 0 });
        arm_failing(1);
        X509_STORE_get0_objects(store);
        arm_failing(0);
        made = calls_so_far();
        snprintf(what, sizeof what, "allocation %llu of %llu", (unsigned long long)at, (unsigned long long)made);
        expect(store, what);
        X509_STORE_free(store);
        ERR_clear_error();
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    wanted = atoi(argv[2]);
    if (wanted > 100)
        exchanged(argv[1]);
    else if (OPENSSL_VERSION_NUMBER < 0x40000000)
        arranged(argv[1]);
    if (!bad)
        printf("all are there\n");
    return bad;
}
