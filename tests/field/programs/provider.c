/* provider HOW: what OpenSSL 3 can read of a certificate is decided when it is parsed. The CAs are loaded before the
 * provider that can read their keys, or while it is shut out by properties; or it goes away after the load. */
#include "late.h"

#include <string.h>

void *OSSL_PROVIDER_load(void *libctx, const char *name);
int OSSL_PROVIDER_unload(void *provider);
int EVP_set_default_properties(void *libctx, const char *properties);

static void *provider;

static void before(const char *how) {
    if (strcmp(how, "late") == 0 || strcmp(how, "late, then another store") == 0)
        printf("null: %d\n", OSSL_PROVIDER_load(NULL, "null") != NULL);
    if (strcmp(how, "base first") == 0)
        printf("base: %d\n", OSSL_PROVIDER_load(NULL, "base") != NULL);
    if (strcmp(how, "unloaded") == 0)
        provider = OSSL_PROVIDER_load(NULL, "default");
    if (strcmp(how, "properties") == 0)
        printf("properties: %d\n", EVP_set_default_properties(NULL, "provider=none"));
}

static void between(const char *how) {
    if (strcmp(how, "unloaded") == 0)
        printf("unloaded: %d\n", OSSL_PROVIDER_unload(provider));
    else if (strcmp(how, "properties") == 0)
        printf("properties: %d\n", EVP_set_default_properties(NULL, ""));
    else
        printf("default: %d\n", OSSL_PROVIDER_load(NULL, "default") != NULL);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    before(argv[1]);
    void *store = X509_STORE_new(), *other = X509_STORE_new();
    printf("load: %d\n", X509_STORE_load_locations(store, path_of("BUNDLE"), NULL));
    int is_enumerated = strcmp(argv[1], "enumerated, then late") == 0;
    if (is_enumerated) {
        printf("null: %d\n", OSSL_PROVIDER_load(NULL, "null") != NULL);
        count("all", store);
    }
    between(argv[1]);
    verify("good", store, "CHAIN");
    verify("untrusted", store, "UNTRUSTED");
    verify("good again", store, "CHAIN");
    printf("load: %d\n", X509_STORE_load_locations(other, path_of("BUNDLE"), NULL));
    verify("other store", other, "CHAIN");
    count("all", store);
    verify("good, enumerated", store, "CHAIN");
    return 0;
}
