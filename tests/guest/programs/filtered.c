/* Work with OpenSSL before and after the process has shut itself into a system call filter.

     filtered PLACE before|after deny|allow|writing ACTION NAME...

   "before": the first load is behind the filter. "after": a load, the filter, the same again, and a changed file. */
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "mark.h"
#include "filter.h"

static const char *place;
static X509 *leaf, *other;

static int verify(X509_STORE *store, X509 *certificate)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_STORE_CTX_init(context, store, certificate, NULL);
    int verdict = X509_verify_cert(context);
    X509_STORE_CTX_free(context);
    return verdict;
}

static void work(const char *when)
{
    static char line[256];
    int results[7], n = 0;
    const char *file = in(place, "bundle.pem"), *folder = in(place, "hashed");
    for (int round = 0; round < 2; round++) {
        X509_STORE *store = X509_STORE_new();
        results[0] = X509_STORE_load_locations(store, file, folder);
        results[1] = verify(store, leaf);
        results[2] = verify(store, other);
        X509_STORE_free(store);
        store = X509_STORE_new();
        setenv("SSL_CERT_FILE", file, 1);
        setenv("SSL_CERT_DIR", folder, 1);
        results[3] = X509_STORE_set_default_paths(store);
        results[4] = verify(store, leaf);
        X509_STORE_free(store);
        store = X509_STORE_new();
        results[5] = X509_STORE_load_locations(store, NULL, folder);
        results[6] = verify(store, leaf);
        X509_STORE_free(store);
        ERR_clear_error();
        n = snprintf(line, sizeof line, "%s: %d %d %d, %d %d, %d %d, %d trapped\n", when, results[0], results[1],
                     results[2], results[3],
                     results[4], results[5], results[6], trapped);
        if (write(1, line, (size_t)n) != n)
            abort();
    }
}

static X509 *read_leaf(const char *name)
{
    BIO *file = BIO_new_file(in(place, name), "r");
    X509 *found = PEM_read_bio_X509(file, NULL, NULL, NULL);
    if (!found)
        abort();
    BIO_free(file);
    return found;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    place = argv[1];
    int before = !strcmp(argv[2], "before");
    become_nobody();
    OPENSSL_init_ssl(0, NULL);
    leaf = read_leaf("leaf.pem"), other = read_leaf("other.pem");
    unsigned char random[16];
    RAND_bytes(random, sizeof random);
    X509_verify(leaf, X509_get0_pubkey(leaf));
    free(malloc(64 << 10));
    if (!before)
        work("before");
    install(argv + 3);
    mark("begin", "filtered", argv[2]);
    work("behind");
    if (!rename(in(place, "next.pem"), in(place, "bundle.pem")))
        work("changed");
    mark("end", "filtered", argv[2]);
    if (trapped)
        fprintf(stderr, "trapped: %s\n", seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, first_trapped));
    _exit(0);
}
