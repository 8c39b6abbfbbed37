/* Loads the default paths or a file, says which library did it, and waits. Also linked statically. */
#include <openssl/crypto.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int left = atoi(argv[1]); left > 0; left--) {
        X509_STORE *store = X509_STORE_new();
        int loaded = argc > 2 ? X509_STORE_load_locations(store, argv[2], NULL) : X509_STORE_set_default_paths(store);
        X509_STORE_free(store);
        if (!loaded)
            return 1;
    }
    puts(OpenSSL_version(OPENSSL_VERSION));
    fflush(stdout);
    (void)getchar();
    return 0;
}
