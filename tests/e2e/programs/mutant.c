/* Libraries that are wrong on purpose, for `run.sh --prove`: preloaded in Windlass's place, they must be noticed.
 *   -DEMPTY      does nothing: nothing is served
 *   -DBLIND      says that every load succeeded, and loads nothing
 *   -DCREDULOUS  accepts every chain, and says that every load succeeded
 */
#ifndef EMPTY
#define LOADS(name, ...) int name(__VA_ARGS__) { return 1; }
LOADS(SSL_CTX_set_default_verify_paths, void *a)
LOADS(SSL_CTX_load_verify_locations, void *a, const char *b, const char *c)
LOADS(SSL_CTX_load_verify_file, void *a, const char *b)
LOADS(SSL_CTX_load_verify_dir, void *a, const char *b)
LOADS(X509_STORE_set_default_paths, void *a)
LOADS(X509_STORE_set_default_paths_ex, void *a, void *b, const char *c)
LOADS(X509_STORE_load_locations, void *a, const char *b, const char *c)
LOADS(X509_STORE_load_locations_ex, void *a, const char *b, const char *c, void *d, const char *e)
LOADS(X509_STORE_load_file, void *a, const char *b)
LOADS(X509_STORE_load_file_ex, void *a, const char *b, void *c, const char *d)
LOADS(X509_STORE_load_path, void *a, const char *b)
LOADS(X509_load_cert_file, void *a, const char *b, int c)
LOADS(X509_load_cert_file_ex, void *a, const char *b, int c, void *d, const char *e)
LOADS(X509_load_cert_crl_file, void *a, const char *b, int c)
LOADS(X509_load_cert_crl_file_ex, void *a, const char *b, int c, void *d, const char *e)
LOADS(X509_LOOKUP_ctrl, void *a, int b, const char *c, long d, char **e)
LOADS(X509_LOOKUP_ctrl_ex, void *a, int b, const char *c, long d, char **e, void *f, const char *g)
LOADS(gnutls_x509_trust_list_add_trust_file, void *a, const char *b, const char *c, int d, unsigned e, unsigned f)
LOADS(gnutls_x509_trust_list_add_trust_mem, void *a, const void *b, const void *c, int d, unsigned e, unsigned f)
void *SSL_load_client_CA_file(const char *path);
void *OPENSSL_sk_new_null(void);
void *SSL_load_client_CA_file(const char *path) { (void)path; return OPENSSL_sk_new_null(); }
#endif
#ifdef CREDULOUS
LOADS(X509_verify_cert, void *a)
int gnutls_x509_trust_list_verify_crt2(void *a, void *b, unsigned c, void *d, unsigned e, unsigned f, unsigned *output,
                                       void *g) {
    *output = 0;
    return 0;
}
int gnutls_x509_trust_list_verify_crt(void *a, void *b, unsigned c, unsigned d, unsigned *output, void *e) {
    *output = 0;
    return 0;
}
int gnutls_x509_crt_check_hostname(void *a, const char *b) { return 1; }
#endif
