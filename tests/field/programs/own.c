/* A store, or a trust list, of the program's own library, by linked calls, before and after the rest. */
#include "field.h"

#if defined(OWN_OPENSSL)
void *X509_STORE_new(void);
void X509_STORE_free(void *store);
int X509_STORE_load_locations(void *store, const char *file, const char *path);
int X509_STORE_set_default_paths(void *store);
int X509_STORE_lock(void *store);
int X509_STORE_unlock(void *store);
void *X509_STORE_get0_objects(void *store);
int OPENSSL_sk_num(const void *stack);

void own_stores(const char *when) {
    void *store = X509_STORE_new();
    int loaded = X509_STORE_load_locations(store, path_of("BUNDLE"), NULL),
        defaults = X509_STORE_set_default_paths(store);
    X509_STORE_lock(store);
    printf("%s: %d %d %d\n", when, loaded, defaults, OPENSSL_sk_num(X509_STORE_get0_objects(store)));
    X509_STORE_unlock(store);
    X509_STORE_free(store);
}
#elif defined(OWN_GNUTLS)
int gnutls_x509_trust_list_init(void **list, unsigned size);
void gnutls_x509_trust_list_deinit(void *list, unsigned all);
int gnutls_x509_trust_list_add_trust_file(void *list, const char *cas, const char *crls, int type, unsigned flags,
                                          unsigned vflags);
int gnutls_x509_trust_list_iter_get_ca(void *list, void **iterator, void **cert);
void gnutls_x509_crt_deinit(void *cert);

void own_stores(const char *when) {
    void *list, *iterator = NULL, *cert;
    gnutls_x509_trust_list_init(&list, 0);
    int loaded = gnutls_x509_trust_list_add_trust_file(list, path_of("BUNDLE"), NULL, 1, 0, 0), count = 0;
    for (; gnutls_x509_trust_list_iter_get_ca(list, &iterator, &cert) == 0; count++)
        gnutls_x509_crt_deinit(cert);
    printf("%s: %d %d\n", when, loaded, count);
    gnutls_x509_trust_list_deinit(list, 1);
}
#else
void own_stores(const char *when) { (void)when; }
#endif
