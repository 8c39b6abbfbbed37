/* gnutls_returns FILE DIRECTORY: the results of GnuTLS' loads, and how many certificates the list then holds. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>

static int held(gnutls_x509_trust_list_t list) {
    gnutls_x509_trust_list_iter_t iterator = NULL;
    gnutls_x509_crt_t certificate;
    int count = 0;
    while (gnutls_x509_trust_list_iter_get_ca(list, &iterator, &certificate) == 0) {
        gnutls_x509_crt_deinit(certificate);
        count++;
    }
    return count;
}

static void show(const char *name, gnutls_certificate_credentials_t credentials, int result) {
    gnutls_x509_trust_list_t list;
    gnutls_certificate_get_trust_list(credentials, &list);
    printf("%s %d\nholds %s %d\n", name, result, name, held(list));
    gnutls_certificate_free_credentials(credentials);
}

int main(int argc, char **argv) {
    gnutls_certificate_credentials_t credentials;
    if (argc != 3)
        return 2;
    gnutls_certificate_allocate_credentials(&credentials);
    show("system-trust", credentials, gnutls_certificate_set_x509_system_trust(credentials));
    gnutls_certificate_allocate_credentials(&credentials);
    show("trust-file", credentials, gnutls_certificate_set_x509_trust_file(credentials, argv[1], GNUTLS_X509_FMT_PEM));
    gnutls_certificate_allocate_credentials(&credentials);
    gnutls_certificate_set_x509_system_trust(credentials);
    show("twice", credentials, gnutls_certificate_set_x509_trust_file(credentials, argv[1], GNUTLS_X509_FMT_PEM));
    gnutls_certificate_allocate_credentials(&credentials);
    show("trust-dir", credentials, gnutls_certificate_set_x509_trust_dir(credentials, argv[2], GNUTLS_X509_FMT_PEM));
    gnutls_certificate_allocate_credentials(&credentials);
    show("missing", credentials,
         gnutls_certificate_set_x509_trust_file(credentials, "/nowhere.pem", GNUTLS_X509_FMT_PEM));
    return 0;
}
