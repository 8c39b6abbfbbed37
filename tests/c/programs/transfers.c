/* transfers MODE BUNDLE GOOD REVOKED COUNT: as many contexts as transfers, all alive at the end, each of which loads a
 * bundle with CRLs and verifies two certificates. Prints how often which verdict came out, and the most memory in KiB.
 * MODE: stock or windlass. xrootd/xrootd#2873. */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windlass_openssl.h>

static windlass_trust *trust;

static X509 *certificate(const char *path)
{
    BIO *file = BIO_new_file(path, "r");
    X509 *found = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    BIO_free(file);
    return found;
}

static int load(X509_STORE *store, const char *bundle)
{
    windlass_store *state = NULL;
    int loaded;
    if (!trust)
        return X509_STORE_load_locations(store, bundle, NULL);
    loaded = windlass_trust_store(trust, &state, NULL) == WINDLASS_OK && windlass_openssl_install(store, state, NULL);
    windlass_store_release(state);
    return loaded;
}

static int verdict(X509_STORE *store, X509 *leaf)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int code;
    X509_STORE_CTX_init(context, store, leaf, NULL);
    X509_verify_cert(context);
    code = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    return code;
}

static long peak(void)
{
    char line[200];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %ld", &kib);
    if (status)
        fclose(status);
    return kib;
}

int main(int count, char **arguments)
{
    int transfers = count > 5 ? atoi(arguments[5]) : 0, counts[2][200] = {{0}};
    X509 *leaves[2] = {certificate(arguments[3]), certificate(arguments[4])};
    SSL_CTX **all = calloc((size_t)transfers + 1, sizeof *all);
    if (strcmp(arguments[1], "windlass") == 0 &&
        windlass_trust_open(arguments[2], WINDLASS_CRLS, &trust, NULL) != WINDLASS_OK)
        return 2;
    for (int transfer = 0; transfer < transfers; transfer++) {
        X509_STORE *store;
        all[transfer] = SSL_CTX_new(TLS_method());
        store = SSL_CTX_get_cert_store(all[transfer]);
        if (!load(store, arguments[2]))
            return 3;
        X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
        for (int leaf = 0; leaf < 2; leaf++)
            counts[leaf][verdict(store, leaves[leaf])]++;
    }
    for (int leaf = 0; leaf < 2; leaf++)
        for (int code = 0; code < 200; code++)
            if (counts[leaf][code])
                printf("%s: %d times %d\n", leaf ? "revoked" : "good", counts[leaf][code], code);
    printf("KiB %ld\n", peak());
    for (int transfer = 0; transfer < transfers; transfer++)
        SSL_CTX_free(all[transfer]);
    free(all);
    X509_free(leaves[0]);
    X509_free(leaves[1]);
    windlass_trust_release(trust);
    return 0;
}
