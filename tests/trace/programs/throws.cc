// throws FILE LEAF: C++ exceptions of callbacks that pass through OpenSSL, and what comes afterwards.
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <cstdio>

static int control(X509_LOOKUP *, int command, const char *, long, char **) { throw command; }
static int stop(int, X509_STORE_CTX *context) { throw X509_STORE_CTX_get_error(context); }
static int go_on(int ok, X509_STORE_CTX *) { return ok; }

int main(int, char **arguments) {
    X509_STORE *store = X509_STORE_new();
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("throws");
    X509_LOOKUP_meth_set_ctrl(method, control);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, method);
    FILE *from = std::fopen(arguments[2], "r");
    X509 *leaf = PEM_read_X509(from, nullptr, nullptr, nullptr);
    std::fclose(from);
    for (int round = 0; round < 3; round++) {
        try {
            X509_LOOKUP_ctrl(lookup, X509_L_FILE_LOAD, arguments[1], 0, nullptr);
        } catch (int command) {
            std::printf("command %d\n", command);
        }
        X509_STORE_CTX *context = X509_STORE_CTX_new();
        X509_STORE_CTX_init(context, store, leaf, nullptr);
        X509_STORE_CTX_set_verify_cb(context, round == 2 ? go_on : stop);
        try {
            std::printf("verified %d\n", X509_verify_cert(context));
        } catch (int error) {
            std::printf("error %d\n", error);
        }
        X509_STORE_CTX_free(context);
    }
    std::printf("%d\n", X509_STORE_load_locations(store, arguments[1], nullptr));
    X509_free(leaf);
    X509_STORE_free(store);
    X509_LOOKUP_meth_free(method);
    return std::fflush(stdout) != 0;
}
