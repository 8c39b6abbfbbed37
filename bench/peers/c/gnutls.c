/* A client's trust list with GnuTLS. The fifth argument is what to trust: a file, or a PKCS#11 URL. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "peer.h"

static const char *trusted;
static gnutls_x509_crt_t leaf;

static void *make(void) {
    gnutls_x509_trust_list_t list;
    must(gnutls_x509_trust_list_init(&list, 0) == 0, "gnutls_x509_trust_list_init");
    must(gnutls_x509_trust_list_add_trust_file(list, trusted, NULL, GNUTLS_X509_FMT_PEM, 0, 0) > 0,
         "loading what is trusted");
    return list;
}

static void verify(void *list) {
    gnutls_typed_vdata_st wanted[] = {{GNUTLS_DT_DNS_HOSTNAME, (void *)"localhost", 0},
                                      {GNUTLS_DT_KEY_PURPOSE_OID, (void *)GNUTLS_KP_TLS_WWW_SERVER, 0}};
    unsigned status = 1;
    must(gnutls_x509_trust_list_verify_crt2(list, &leaf, 1, wanted, 2, 0, &status, NULL) == 0 && status == 0,
         "gnutls_x509_trust_list_verify_crt2");
}

static void drop(void *list) { gnutls_x509_trust_list_deinit(list, 1); }

int main(int argc, char **argv) {
    must(argc == 6, "reading MODE, N, ROOT, LEAF and what to trust");
    const struct peer peer = {make, verify, drop};
    gnutls_datum_t pem;
    must(gnutls_load_file(argv[4], &pem) == 0 && gnutls_x509_crt_init(&leaf) == 0 &&
             gnutls_x509_crt_import(leaf, &pem, GNUTLS_X509_FMT_PEM) == 0,
         "reading the leaf");
    trusted = argv[5];
    measure(&peer, argv[1], atoi(argv[2]));
    gnutls_x509_crt_deinit(leaf);
    gnutls_free(pem.data);
    return 0;
}
