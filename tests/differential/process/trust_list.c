/*
 * What GnuTLS says of certificates, with two trust lists of the same file one after the other.
 *
 *     trust_list CAFILE LEAF...
 */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>

static int look(const char *cafile, char **leaves)
{
    gnutls_x509_trust_list_t list;

    if (gnutls_x509_trust_list_init(&list, 0) < 0)
        return 3;
    printf("loaded %d\n", gnutls_x509_trust_list_add_trust_file(list, cafile, NULL, GNUTLS_X509_FMT_PEM, 0, 0));
    for (; *leaves != NULL; leaves++) {
        gnutls_x509_crt_t leaf;
        gnutls_datum_t text;
        unsigned status = 0;

        if (gnutls_load_file(*leaves, &text) < 0 || gnutls_x509_crt_init(&leaf) < 0
                || gnutls_x509_crt_import(leaf, &text, GNUTLS_X509_FMT_PEM) < 0)
            return 3;
        printf("%s %d", *leaves, gnutls_x509_trust_list_verify_crt2(list, &leaf, 1, NULL, 0, 0, &status, NULL));
        printf(" %#x\n", status);
        gnutls_x509_crt_deinit(leaf);
        gnutls_free(text.data);
    }
    gnutls_x509_trust_list_deinit(list, 1);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 3 || look(argv[1], argv + 2);

    return failed ? failed : look(argv[1], argv + 2);
}
