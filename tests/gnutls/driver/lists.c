/* Trust lists: making, loading in every way, adding and removing. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

/* bag SLOT FILE: the certificates of a PEM file (not a load) */
static void bag_read(args *a)
{
    gnutls_datum_t text = contents(str(a, 2));
    bag *b = &bags[slot(a, 1)];
    int result = gnutls_x509_crt_list_import2(&b->cert, &b->n, &text, GNUTLS_X509_FMT_PEM, 0);

    if (result < 0)
        die("bag %s: %s", str(a, 2), gnutls_strerror_name(result));
    gnutls_free(text.data);
    say("bag %u", b->n);
}

/* list SLOT [SIZE] */
static void list_new(args *a)
{
    gnutls_x509_trust_list_t list = NULL;
    int result = gnutls_x509_trust_list_init(&list, a->n > 2 ? (unsigned)num(a, 2) : 0);

    take_list(slot(a, 1), list, 0);
    say_result("list_init", result);
}

static void list_free(args *a)
{
    take_list(slot(a, 1), NULL, 0);
    say("list_free");
}

/* file LIST CA CRL TYPE FLAGS VFLAGS */
static void load_file(args *a)
{
    say_result("add_trust_file", gnutls_x509_trust_list_add_trust_file(
        list_at(a, 1), str(a, 2), str(a, 3), format_of(a, 4), (unsigned)num(a, 5), (unsigned)num(a, 6)));
}

/* mem LIST CA CRL TYPE FLAGS VFLAGS: what is in memory are the files' contents; "-" is no datum, "%" one without
 * data */
static gnutls_datum_t *datum_of(const char *path, gnutls_datum_t *d)
{
    if (path == NULL)
        return NULL;
    if (*path != '\0')
        *d = contents(path);
    return d;
}

static void load_mem(args *a)
{
    gnutls_datum_t ca = { NULL, 0 }, crl = { NULL, 0 };
    gnutls_datum_t *cas = datum_of(str(a, 2), &ca), *crls = datum_of(str(a, 3), &crl);

    say_result("add_trust_mem", gnutls_x509_trust_list_add_trust_mem(
        list_at(a, 1), cas, crls, format_of(a, 4), (unsigned)num(a, 5), (unsigned)num(a, 6)));
    if (ca.data != NULL) /* nobody may have kept a pointer into it */
        memset(ca.data, 'x', ca.size);
    gnutls_free(ca.data);
    gnutls_free(crl.data);
}

/* dir LIST CA CRL TYPE FLAGS VFLAGS */
static void load_dir(args *a)
{
    say_result("add_trust_dir", gnutls_x509_trust_list_add_trust_dir(
        list_at(a, 1), str(a, 2), str(a, 3), format_of(a, 4), (unsigned)num(a, 5), (unsigned)num(a, 6)));
}

/* system LIST FLAGS VFLAGS */
static void load_system(args *a)
{
    say_result("add_system_trust", gnutls_x509_trust_list_add_system_trust(
        list_at(a, 1), (unsigned)num(a, 2), (unsigned)num(a, 3)));
}

/* add_cas LIST B:I,B:I FLAGS */
static void add_cas(args *a)
{
    bag b = copies(str(a, 2));

    say_result("add_cas", gnutls_x509_trust_list_add_cas(list_at(a, 1), b.cert, b.n, (unsigned)num(a, 3)));
    free(b.cert);
}

/* add_crls LIST FILE FLAGS VFLAGS */
static void add_crls(args *a)
{
    gnutls_datum_t text = contents(str(a, 2));
    gnutls_x509_crl_t *crls = NULL;
    unsigned n = 0;

    if (gnutls_x509_crl_list_import2(&crls, &n, &text, GNUTLS_X509_FMT_PEM, 0) < 0)
        die("crls %s", str(a, 2));
    gnutls_free(text.data);
    say_result("add_crls", gnutls_x509_trust_list_add_crls(list_at(a, 1), crls, n, (unsigned)num(a, 3),
                                                           (unsigned)num(a, 4)));
    gnutls_free(crls);
}

/* named LIST B:I NAME */
static void add_named(args *a)
{
    bag b = copies(str(a, 2));

    say_result("add_named_crt", gnutls_x509_trust_list_add_named_crt(
        list_at(a, 1), b.cert[0], str(a, 3), strlen(str(a, 3)), 0));
    free(b.cert);
}

/* remove_cas LIST B:I,B:I */
static void remove_cas(args *a)
{
    bag b = copies(str(a, 2));
    unsigned i;

    say_result("remove_cas", gnutls_x509_trust_list_remove_cas(list_at(a, 1), b.cert, b.n));
    for (i = 0; i < b.n; i++)
        gnutls_x509_crt_deinit(b.cert[i]);
    free(b.cert);
}

static void remove_mem(args *a)
{
    gnutls_datum_t text = contents(str(a, 2));

    say_result("remove_trust_mem", gnutls_x509_trust_list_remove_trust_mem(list_at(a, 1), &text, format_of(a, 3)));
    gnutls_free(text.data);
}

static void remove_file(args *a)
{
    say_result("remove_trust_file",
               gnutls_x509_trust_list_remove_trust_file(list_at(a, 1), str(a, 2), format_of(a, 3)));
}

/* pointer LIST: what a program has put beside a list (GnuTLS 3.7) */
static void pointer(args *a)
{
    static int mark;

    if (gnutls_x509_trust_list_get_ptr(list_at(a, 1)) == NULL) {
        gnutls_x509_trust_list_set_ptr(list_at(a, 1), &mark);
        say("pointer set");
    } else {
        say("pointer %d", gnutls_x509_trust_list_get_ptr(list_at(a, 1)) == &mark);
    }
}

const command list_commands[] = {
    { "bag", bag_read },
    { "list", list_new },
    { "list_free", list_free },
    { "file", load_file },
    { "mem", load_mem },
    { "dir", load_dir },
    { "system", load_system },
    { "add_cas", add_cas },
    { "add_crls", add_crls },
    { "named", add_named },
    { "remove_cas", remove_cas },
    { "remove_mem", remove_mem },
    { "remove_file", remove_file },
    { "pointer", pointer },
    { NULL, NULL },
};
