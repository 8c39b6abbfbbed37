/* warm [COUNT]: ns of unverified contexts, of the first verifying context of this process, and of those that follow it. The very
 * first context, which also initialises OpenSSL, is an unverified one and is not counted. */
#include "bench.h"

static long long life(int verifying) {
    long long begin = now_ns();
    SSL_CTX *ctx = new_context(verifying);
    long long taken = now_ns() - begin;
    SSL_CTX_free(ctx);
    return taken;
}

static void list(const char *name, int verifying, int count, const char *end) {
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) printf("%s%lld", i ? ", " : "", life(verifying));
    printf("]%s", end);
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 20;
    life(0);
    printf("{");
    list("unverified", 0, count, ", ");
    list("first", 1, 1, ", ");
    list("following", 1, count, "}\n");
    return 0;
}
