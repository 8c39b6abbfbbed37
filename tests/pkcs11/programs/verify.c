/* Verifies a chain with GnuTLS against what a PKCS#11 URL trusts, and prints what came out.
 *
 *     verify URL CHAIN.pem [none]      (none: only adds what the URL trusts)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

int main(int argc, char **argv)
{
    gnutls_x509_trust_list_t list;
    gnutls_x509_crt_t *chain;
    gnutls_datum_t pem, text;
    unsigned length, status = 0;
    gnutls_typed_vdata_st purpose = { GNUTLS_DT_KEY_PURPOSE_OID, (void *)GNUTLS_KP_TLS_WWW_SERVER, 0 };
    int ret, added;

    if (argc < 3)
        return 2;
    if (gnutls_load_file(argv[2], &pem) < 0)
        return 2;
    if (gnutls_x509_crt_list_import2(&chain, &length, &pem, GNUTLS_X509_FMT_PEM, 0) < 0)
        return 2;
    gnutls_x509_trust_list_init(&list, 0);
    added = gnutls_x509_trust_list_add_trust_file(list, argv[1], NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    printf("added %d\n", added);
    if (argc < 4 || strcmp(argv[3], "none") != 0) {
        ret = gnutls_x509_trust_list_verify_crt2(list, chain, length, &purpose, 1, 0, &status, NULL);
        gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
        printf("ret %d status %#x %s\n", ret, status, text.data);
        gnutls_free(text.data);
    }
    gnutls_x509_trust_list_deinit(list, 1);
    while (length > 0)
        gnutls_x509_crt_deinit(chain[--length]);
    gnutls_free(chain);
    gnutls_free(pem.data);
    return 0;
}
