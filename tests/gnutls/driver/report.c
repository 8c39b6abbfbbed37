/* How certificates and results are printed, and certificates copied. */
#include "driver.h"
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

const char *print_datum(const gnutls_datum_t *d)
{
    static char ring[64][32];
    static int next;
    char *out = ring[next++ % 64];
    unsigned char digest[20];
    int i;

    if (d == NULL || d->data == NULL)
        return "none";
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, d->data, d->size, digest) < 0)
        die("gnutls_hash_fast");
    for (i = 0; i < 5; i++)
        sprintf(out + 2 * i, "%02x", digest[i]);
    return out;
}

const char *print_of(gnutls_x509_crt_t cert)
{
    gnutls_datum_t der = { NULL, 0 };
    const char *out;

    if (cert == NULL)
        return "none";
    if (gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_DER, &der) < 0)
        return "empty";
    out = print_datum(&der);
    gnutls_free(der.data);
    return out;
}

const char *print_crl(gnutls_x509_crl_t crl)
{
    gnutls_datum_t der = { NULL, 0 };
    const char *out;

    if (crl == NULL)
        return "none";
    if (gnutls_x509_crl_export2(crl, GNUTLS_X509_FMT_DER, &der) < 0)
        return "empty";
    out = print_datum(&der);
    gnutls_free(der.data);
    return out;
}

/* The name of an error is what people see; a count is a count. */
void say_result(const char *what, int result)
{
    if (result < 0)
        say("%s %d %s", what, result, gnutls_strerror_name(result));
    else
        say("%s %d", what, result);
}

unsigned format_of(const args *a, int i)
{
    const char *s = str(a, i);

    return s == NULL || strcmp(s, "pem") == 0 ? GNUTLS_X509_FMT_PEM
         : strcmp(s, "der") == 0 ? GNUTLS_X509_FMT_DER : (unsigned)atoi(s);
}

static gnutls_x509_crt_t copy_of(gnutls_x509_crt_t cert)
{
    gnutls_datum_t der = { NULL, 0 };
    gnutls_x509_crt_t out;

    if (gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_DER, &der) < 0
            || gnutls_x509_crt_init(&out) < 0
            || gnutls_x509_crt_import(out, &der, GNUTLS_X509_FMT_DER) < 0)
        die("copying a certificate");
    gnutls_free(der.data);
    return out;
}

bag copies(const char *references)
{
    bag out = { 0, NULL };
    char *copy, *word, *rest;

    rest = copy = references == NULL ? NULL : strdup(references);
    while (rest != NULL && (word = strtok_r(rest, ",", &rest)) != NULL) {
        out.cert = realloc(out.cert, (out.n + 1) * sizeof(*out.cert));
        out.cert[out.n++] = copy_of(cert_at(word));
    }
    free(copy);
    return out;
}
