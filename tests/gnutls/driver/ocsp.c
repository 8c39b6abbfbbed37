/* OCSP responses, whose signer is looked up in a trust list; and PKCS#7 signatures, which ask a list as well. */
#include "driver.h"
#include <gnutls/ocsp.h>
#include <gnutls/pkcs7.h>

/* ocsp LIST FILE FLAGS: gnutls_ocsp_resp_verify */
static void ocsp(args *a)
{
    gnutls_datum_t der = contents(str(a, 2));
    gnutls_ocsp_resp_t response;
    unsigned status = 0x77777777;
    int result;

    gnutls_ocsp_resp_init(&response);
    result = gnutls_ocsp_resp_import(response, &der);
    if (result < 0) {
        say_result("ocsp_resp_import", result);
    } else {
        result = gnutls_ocsp_resp_verify(response, list_at(a, 1), &status, (unsigned)num(a, 3));
        say("ocsp_resp_verify %d status %x", result, status);
    }
    gnutls_ocsp_resp_deinit(response);
    gnutls_free(der.data);
}

/* pkcs7 LIST FILE DATA FLAGS: gnutls_pkcs7_verify of the first signature */
static void pkcs7(args *a)
{
    gnutls_datum_t der = contents(str(a, 2)), data = contents(str(a, 3));
    gnutls_pkcs7_t message;
    int result;

    gnutls_pkcs7_init(&message);
    result = gnutls_pkcs7_import(message, &der, GNUTLS_X509_FMT_PEM);
    if (result >= 0)
        result = gnutls_pkcs7_verify(message, list_at(a, 1), NULL, 0, 0, &data, (unsigned)num(a, 4));
    say_result("pkcs7_verify", result);
    gnutls_pkcs7_deinit(message);
    gnutls_free(der.data);
    gnutls_free(data.data);
}

const command ocsp_commands[] = {
    { "ocsp", ocsp },
    { "pkcs7", pkcs7 },
    { NULL, NULL },
};
