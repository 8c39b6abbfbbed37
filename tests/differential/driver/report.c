/* How certificates, objects and errors are printed. */
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');

    return path == NULL ? "-" : slash == NULL ? path : slash + 1;
}

/*
 * File, line and function too: ERR_print_errors shows them to people. Of the
 * flags only ERR_TXT_STRING has a meaning; ERR_TXT_MALLOCED without it tells
 * whether the slot of the ring was used before.
 */
void drain_errors(void)
{
    const char *file = NULL, *function = NULL, *data = NULL;
    int where = 0, flags = 0;
    unsigned long e;

    for (;;) {
#if V3
        e = ERR_get_error_all(&file, &where, &function, &data, &flags);
#else
        e = ERR_get_error_line_data(&file, &where, &data, &flags);
        function = ERR_func_error_string(e);
#endif
        if (e == 0)
            return;
        say("! %08lx %s:%d %s flags=%d data=%s", e, base_name(file), where,
            function == NULL ? "-" : function, flags & ERR_TXT_STRING, flags & ERR_TXT_STRING ? data : "-");
    }
}

static const char *hex_of(const unsigned char *digest)
{
    static char ring[64][24];
    static int next;
    char *out = ring[next++ % 64];
    int i;

    for (i = 0; i < 5; i++)
        sprintf(out + 2 * i, "%02x", digest[i]);
    return out;
}

static int object_count(const STACK_OF(ASN1_OBJECT) *objects)
{
    return objects == NULL ? 0 : sk_ASN1_OBJECT_num(objects) + 1;
}

const char *print_of(X509 *x)
{
    static char ring[64][160];
    static int next;
    unsigned char digest[EVP_MAX_MD_SIZE], *der = NULL;
    char *out = ring[next++ % 64];
    int length, trusted, rejected, alias_length = 0;
    const unsigned char *alias;

    if (x == NULL)
        return "none";
    length = i2d_X509(x, &der);
    if (length < 0 || !EVP_Digest(der, (size_t)length, digest, NULL, EVP_sha1(), NULL))
        die("i2d_X509");
    OPENSSL_free(der);
    strcpy(out, hex_of(digest));
    trusted = object_count(X509_get0_trust_objects(x));
    rejected = object_count(X509_get0_reject_objects(x));
    alias = X509_alias_get0(x, &alias_length);
    if (trusted || rejected)
        sprintf(out + strlen(out), "+t%dr%d", trusted, rejected);
    if (alias != NULL)
        sprintf(out + strlen(out), "+a%.*s", alias_length > 40 ? 40 : alias_length, alias);
    return out;
}

const char *crl_print_of(X509_CRL *crl)
{
    unsigned char digest[EVP_MAX_MD_SIZE], *der = NULL;
    int length = i2d_X509_CRL(crl, &der);

    if (length < 0 || !EVP_Digest(der, (size_t)length, digest, NULL, EVP_sha1(), NULL))
        die("i2d_X509_CRL");
    OPENSSL_free(der);
    return hex_of(digest);
}

void say_certs(const char *what, STACK_OF(X509) *certs)
{
    int i, n = sk_X509_num(certs);

    if (certs == NULL) {
        say("%s null", what);
        return;
    }
    printf("%d %s %d:", line, what, n);
    for (i = 0; i < n; i++)
        printf(" %s", print_of(sk_X509_value(certs, i)));
    putchar('\n');
}

#if V4
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}
#endif

void say_objects(const char *what, const STACK_OF(X509_OBJECT) *objects)
{
    int i, n = sk_X509_OBJECT_num(objects);
    char **text;

    if (objects == NULL) {
        say("%s null", what);
        return;
    }
    text = calloc((size_t)n + 1, sizeof(*text));
    for (i = 0; i < n; i++) {
        X509_OBJECT *o = sk_X509_OBJECT_value(objects, i);
        char buffer[200] = "other";

        if (X509_OBJECT_get_type(o) == X509_LU_X509)
            snprintf(buffer, sizeof(buffer), "%s", print_of(X509_OBJECT_get0_X509(o)));
        else if (X509_OBJECT_get_type(o) == X509_LU_CRL)
            snprintf(buffer, sizeof(buffer), "crl-%s",
                     crl_print_of(X509_OBJECT_get0_X509_CRL(o)));
        text[i] = strdup(buffer);
    }
#if V4
    /* 4.0 keeps objects in a hash table: their order changes from run to run. */
    qsort(text, (size_t)n, sizeof(*text), by_text);
#endif
    printf("%d %s %d:", line, what, n);
    for (i = 0; i < n; i++) {
        printf(" %s", text[i]);
        free(text[i]);
    }
    free(text);
    putchar('\n');
}
