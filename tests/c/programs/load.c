/* load FILE FLAGS: what stock OpenSSL returns for a file, and the error of this library or "ok". */
#include <stdio.h>
#include <stdlib.h>
#include <windlass_openssl.h>

int main(int count, char **arguments)
{
    windlass_trust *trust = NULL;
    windlass_store *state = NULL;
    windlass_error error = {0};
    X509_STORE *stock = X509_STORE_new(), *store = X509_STORE_new();
    unsigned flags = count > 2 ? (unsigned)atoi(arguments[2]) : 0;
    int loaded = X509_STORE_load_locations(stock, arguments[1], NULL);
    int code = windlass_trust_open(arguments[1], flags, &trust, &error);
    if (code == WINDLASS_OK)
        code = windlass_trust_store(trust, &state, &error);
    if (code == WINDLASS_OK && !windlass_openssl_install(store, state, &error))
        code = error.code;
    printf("%d %d\n%d\n%s\n%s\n", loaded, code, error.system_error, error.path, code ? error.text : "ok");
    X509_STORE_free(stock);
    X509_STORE_free(store);
    windlass_store_release(state);
    windlass_trust_release(trust);
    return 0;
}
