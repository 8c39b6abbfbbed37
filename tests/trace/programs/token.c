/* Verifies with a GnuTLS trust list that stands for a PKCS#11 token, in several threads. Says whether memory was kept
 * by that. */
#define _GNU_SOURCE
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static gnutls_x509_trust_list_t list;
static gnutls_datum_t pem;
static int times;

static void *verifying(void *nothing) {
    for (int i = 0; i < times; i++) {
        gnutls_x509_crt_t certificate;
        unsigned status = 1;
        gnutls_x509_crt_init(&certificate);
        gnutls_x509_crt_import(certificate, &pem, GNUTLS_X509_FMT_PEM);
        if (gnutls_x509_trust_list_verify_crt2(list, &certificate, 1, NULL, 0, 0, &status, NULL) < 0 || status != 0)
            abort();
        gnutls_x509_crt_deinit(certificate);
    }
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t threads[8];
    if (count < 3 || gnutls_load_file(arguments[1], &pem) < 0)
        return 2;
    gnutls_x509_trust_list_init(&list, 0);
    printf("%d\n", gnutls_x509_trust_list_add_trust_file(list, arguments[2], NULL, GNUTLS_X509_FMT_PEM, 0, 0) > 0);
    times = 100;
    verifying(NULL);
    size_t before = mallinfo2().uordblks;
    verifying(NULL);
    printf("kept: %d\n", mallinfo2().uordblks > before + 512 * 1024);
    times = 50;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, verifying, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    gnutls_x509_trust_list_deinit(list, 1);
    return 0;
}
