/* warm EARLIER KIND: ns of one context, "verifying" or "unverified", of a process that has made EARLIER unverified ones
 * before, and of 20 unverified ones after it. The first context of a process also initialises OpenSSL. */
#include "bench.h"

static long long life(int verifying) {
    long long begin = now_ns();
    SSL_CTX *ctx = new_context(verifying);
    long long taken = now_ns() - begin;
    SSL_CTX_free(ctx);
    return taken;
}

int main(int argc, char **argv) {
    must(argc == 3, "reading EARLIER and KIND");
    for (int i = atoi(argv[1]); i > 0; i--) life(0);
    printf("{\"first\": %lld, \"unverified\": [", life(strcmp(argv[2], "verifying") == 0));
    for (int i = 0; i < 20; i++) printf("%s%lld", i ? ", " : "", life(0));
    printf("]}\n");
    return 0;
}
