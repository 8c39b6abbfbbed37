/* lookup N: ns of looking up a subject that no root has, in a store with the default paths. */
#include "bench.h"

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0;
    must(count > 0, "reading N");
    X509_STORE *store = X509_STORE_new();
    must(X509_STORE_set_default_paths(store), "X509_STORE_set_default_paths");
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    must(X509_STORE_CTX_init(ctx, store, NULL, NULL), "X509_STORE_CTX_init");
    X509_OBJECT *found = X509_OBJECT_new();
    printf("[");
    for (int turn = -3; turn < count; turn++) {
        char text[64];
        snprintf(text, sizeof text, "nobody's root number %d", turn);
        X509_NAME *name = X509_NAME_new();
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (unsigned char *)text, -1, -1, 0);
        long long begin = now_ns();
        int ok = X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, name, found);
        long long taken = now_ns() - begin;
        must(ok <= 0, "not finding it");
        if (turn >= 0)
            printf("%s%lld", turn ? ", " : "", taken);
        X509_NAME_free(name);
    }
    printf("]\n");
    X509_OBJECT_free(found);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return 0;
}
