/* returns FILE DIRECTORY [errno]: what a program sees of loads of OpenSSL's: result and error queue. Each with an older
 * error in the queue. Lines of their own ("holds") say how many certificates the store holds afterwards, and with a
 * third argument, what errno is. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#define ERR_raise(library, reason) ERR_put_error(library, 0, reason, __FILE__, __LINE__)
#endif

static const char *file, *directory;
static int show_errno;

/* X509_STORE_get1_all_certs came with 3.0. */
static int held(X509_STORE *store) {
    int count = 0;
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    for (int at = 0; at < sk_X509_OBJECT_num(objects); at++)
        count += X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, at)) != NULL;
    return count;
}

static int default_paths(X509_STORE *store) { return X509_STORE_set_default_paths(store); }
static int load_file(X509_STORE *store) { return X509_STORE_load_locations(store, file, NULL); }
static int load_path(X509_STORE *store) { return X509_STORE_load_locations(store, NULL, directory); }
static int load_both(X509_STORE *store) { return X509_STORE_load_locations(store, file, directory); }
static int load_missing(X509_STORE *store) { return X509_STORE_load_locations(store, "/nowhere.pem", NULL); }
static int through_lookup(X509_STORE *store) {
    return X509_load_cert_crl_file(X509_STORE_add_lookup(store, X509_LOOKUP_file()), file, X509_FILETYPE_PEM);
}
static int lookup_default(X509_STORE *store) {
    return X509_LOOKUP_load_file(X509_STORE_add_lookup(store, X509_LOOKUP_file()), NULL, X509_FILETYPE_DEFAULT);
}
static int lookup_default_directory(X509_STORE *store) {
    return X509_LOOKUP_add_dir(X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir()), NULL, X509_FILETYPE_DEFAULT);
}
static int lookup_file(X509_STORE *store) {
    return X509_LOOKUP_load_file(X509_STORE_add_lookup(store, X509_LOOKUP_file()), file, X509_FILETYPE_PEM);
}
static int lookup_directory(X509_STORE *store) {
    return X509_LOOKUP_add_dir(X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir()), directory, X509_FILETYPE_PEM);
}
static int context_of_its_own(X509_STORE *store) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    static OSSL_LIB_CTX *context;
    if (context == NULL)
        context = OSSL_LIB_CTX_new();
    return X509_STORE_set_default_paths_ex(store, context, NULL);
#else
    return X509_STORE_set_default_paths(store);
#endif
}
static int libssl(X509_STORE *store) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    X509_STORE_up_ref(store);
    SSL_CTX_set_cert_store(context, store);
    int result = SSL_CTX_load_verify_locations(context, file, directory);
    SSL_CTX_free(context);
    return result;
}

static void try(const char *name, int (*load)(X509_STORE *)) {
    X509_STORE *store = X509_STORE_new();
    ERR_clear_error();
    ERR_raise(ERR_LIB_USER, 42);
    errno = 0;
    int result = load(store);
    int found = errno;
    if (show_errno)
        printf("errno-%s %d\n", name, found);
    printf("%s %d errors", name, result);
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(" %lx", error);
    printf("\nholds %s %d\n", name, held(store));
    X509_STORE_free(store);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    show_errno = argc > 3;
    file = argv[1], directory = argv[2];
    try("default-paths", default_paths);
    try("load-file", load_file);
    try("load-path", load_path);
    try("load-both", load_both);
    try("load-missing", load_missing);
    try("through-lookup", through_lookup);
    try("lookup-default", lookup_default);
    try("lookup-default-directory", lookup_default_directory);
    try("lookup-file", lookup_file);
    try("lookup-directory", lookup_directory);
    try("own-context", context_of_its_own);
    try("libssl", libssl);
    return 0;
}
