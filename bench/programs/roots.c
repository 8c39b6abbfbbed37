/* roots N FILE FILE…: the life of a fresh context loading each file, alternating; first loads apart. ns, as JSON. */
#include "bench.h"

static long long life(const char *path) {
    long long begin = now_ns();
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    must(SSL_CTX_load_verify_locations(ctx, path, NULL), path);
    SSL_CTX_free(ctx);
    return now_ns() - begin;
}

int main(int argc, char **argv) {
    int count = argc > 2 ? atoi(argv[1]) : -1, files = argc - 2;
    must(count >= 0, "reading N");
    SSL_CTX_free(new_context(0));
    printf("{\"first\": [");
    for (int i = 0; i < files; i++)
        printf("%s%lld", i ? ", " : "", life(argv[2 + i]));
    long long *samples = calloc((size_t)files * (size_t)count + 1, sizeof *samples);
    for (int turn = 0; turn < count; turn++)
        for (int i = 0; i < files; i++)
            samples[i * count + turn] = life(argv[2 + i]);
    printf("], \"lives\": [");
    for (int i = 0; i < files; i++) {
        printf("%s[", i ? ", " : "");
        for (int turn = 0; turn < count; turn++)
            printf("%s%lld", turn ? ", " : "", samples[i * count + turn]);
        printf("]");
    }
    printf("]}\n");
    free(samples);
    return 0;
}
