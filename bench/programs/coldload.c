/* coldload FILE: ns of OpenSSL's first load of a bundle in this process, and of the next one. */
#include "bench.h"

static long long load(const char *path) {
    X509_STORE *store = X509_STORE_new();
    long long begin = now_ns();
    must(X509_STORE_load_file(store, path), path);
    long long taken = now_ns() - begin;
    X509_STORE_free(store);
    return taken;
}

int main(int argc, char **argv) {
    must(argc == 2, "reading FILE");
    long long first = load(argv[1]), next = load(argv[1]);
    printf("{\"first\": %lld, \"next\": %lld}\n", first, next);
    return 0;
}
