/* What a program can look up in a list: iteration and searches for issuers. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

static gnutls_x509_trust_list_iter_t iterators[SLOTS];

void free_iterators(void)
{
    int i;

    for (i = 0; i < SLOTS; i++) {
        gnutls_x509_trust_list_iter_deinit(iterators[i]);
        iterators[i] = NULL;
    }
}

/* next LIST ITERATOR COUNT: up to COUNT certificates, in their order, and how it went on */
static void iterate(args *a)
{
    gnutls_x509_trust_list_t list = list_at(a, 1);
    gnutls_x509_trust_list_iter_t *iterator = &iterators[slot(a, 2)];
    long left = num(a, 3), n = 0;
    gnutls_x509_crt_t cert = NULL;
    int result = 0;

    printf("%d iter_get_ca", line);
    for (; left > 0 && (result = gnutls_x509_trust_list_iter_get_ca(list, iterator, &cert)) == 0; left--, n++) {
        printf(" %s", print_of(cert));
        gnutls_x509_crt_deinit(cert);
    }
    printf(" = %ld, %d\n", n, result);
}

static void iterate_end(args *a)
{
    gnutls_x509_trust_list_iter_deinit(iterators[slot(a, 1)]);
    iterators[slot(a, 1)] = NULL;
}

/* issuer LIST B:I FLAGS */
static void issuer(args *a)
{
    unsigned flags = (unsigned)num(a, 3);
    gnutls_x509_crt_t found = NULL;
    int result = gnutls_x509_trust_list_get_issuer(list_at(a, 1), cert_at(str(a, 2)), &found, flags);

    say("get_issuer %d %s", result, result == 0 ? print_of(found) : "-");
    if (result == 0 && (flags & GNUTLS_TL_GET_COPY))
        gnutls_x509_crt_deinit(found);
}

/* by_dn LIST B:I: the certificate of that one's subject */
static void by_dn(args *a)
{
    gnutls_datum_t dn = { NULL, 0 };
    gnutls_x509_crt_t found = NULL;
    int result;

    if (gnutls_x509_crt_get_raw_dn(cert_at(str(a, 2)), &dn) < 0)
        die("raw dn of %s", str(a, 2));
    result = gnutls_x509_trust_list_get_issuer_by_dn(list_at(a, 1), &dn, &found, 0);
    say("get_issuer_by_dn %d %s", result, result == 0 ? print_of(found) : "-");
    if (result == 0)
        gnutls_x509_crt_deinit(found);
    gnutls_free(dn.data);
}

/* by_key LIST B:I|- B:I: subject of the first (or none) and key identifier of the second */
static void by_key(args *a)
{
    gnutls_datum_t dn = { NULL, 0 }, id;
    unsigned char bytes[128];
    size_t size = sizeof(bytes);
    gnutls_x509_crt_t found = NULL;
    int result;

    if (str(a, 2) != NULL)
        gnutls_x509_crt_get_raw_dn(cert_at(str(a, 2)), &dn);
    if (gnutls_x509_crt_get_subject_key_id(cert_at(str(a, 3)), bytes, &size, NULL) < 0) {
        say("no key id");
        gnutls_free(dn.data);
        return;
    }
    id.data = bytes;
    id.size = (unsigned)size;
    result = gnutls_x509_trust_list_get_issuer_by_subject_key_id(list_at(a, 1), dn.data ? &dn : NULL, &id, &found, 0);
    say("get_issuer_by_subject_key_id %d %s", result, result == 0 ? print_of(found) : "-");
    if (result == 0)
        gnutls_x509_crt_deinit(found);
    gnutls_free(dn.data);
}

static char wanted[1 << 12];

/*
 * Supplies intermediates from a bag, in its order, and looks at the list it is
 * given as a program would.
 */
static int supply(gnutls_x509_trust_list_t list, const gnutls_x509_crt_t cert, gnutls_x509_crt_t **issuers,
                  unsigned *count)
{
    gnutls_x509_trust_list_iter_t iterator = NULL;
    gnutls_x509_crt_t found = NULL;
    int listed = gnutls_x509_trust_list_get_issuer(list, cert, &found, GNUTLS_TL_GET_COPY), n = 0;
    bag all = copies(wanted);
    unsigned i;

    printf("%d asked for the issuer of %s, in the list %s", line, print_of(cert), listed == 0 ? print_of(found) : "-");
    if (listed == 0)
        gnutls_x509_crt_deinit(found);
    while (gnutls_x509_trust_list_iter_get_ca(list, &iterator, &found) == 0) {
        gnutls_x509_crt_deinit(found);
        n++;
    }
    printf(", which has %d\n", n);
    *issuers = gnutls_malloc((all.n + 1) * sizeof(**issuers));
    *count = 0;
    for (i = 0; i < all.n; i++) {
        gnutls_x509_crt_t above = *count == 0 ? cert : (*issuers)[*count - 1];

        if (gnutls_x509_crt_check_issuer(above, all.cert[i]))
            (*issuers)[(*count)++] = all.cert[i];
        else
            gnutls_x509_crt_deinit(all.cert[i]);
    }
    free(all.cert);
    return 0;
}

/* getissuer LIST B:I,B:I (or "-": no function) */
static void set_getissuer(args *a)
{
    if (str(a, 2) != NULL)
        snprintf(wanted, sizeof(wanted), "%s", str(a, 2));
    gnutls_x509_trust_list_set_getissuer_function(list_at(a, 1), str(a, 2) == NULL ? NULL : supply);
    say("set_getissuer_function");
}

const command search_commands[] = {
    { "next", iterate },
    { "next_end", iterate_end },
    { "issuer", issuer },
    { "by_dn", by_dn },
    { "by_key", by_key },
    { "getissuer", set_getissuer },
    { NULL, NULL },
};
