/* memory N: resident KiB added by N further unverified contexts, then by N further verifying ones, all kept alive. */
#include "bench.h"

static long resident_kib(void) {
    char line[256];
    long kib = -1;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    must(rollup != NULL, "opening /proc/self/smaps_rollup");
    while (fgets(line, sizeof line, rollup) != NULL && sscanf(line, "Rss: %ld kB", &kib) != 1) {
    }
    fclose(rollup);
    return kib;
}

static long add(SSL_CTX **kept, int count, int verifying) {
    long before = resident_kib();
    for (int i = 0; i < count; i++)
        kept[i] = new_context(verifying);
    return resident_kib() - before;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0;
    must(count > 0, "reading N");
    SSL_CTX **kept = calloc(2 * (size_t)count, sizeof *kept);
    must(kept != NULL, "calloc");
    /* What is made once in a process is not a further context's. */
    SSL_CTX *first[4];
    for (int i = 0; i < 4; i++)
        first[i] = new_context(i % 2);
    long unverified = add(kept, count, 0), verifying = add(kept + count, count, 1);
    printf("{\"unverified\": %ld, \"verifying\": %ld}\n", unverified, verifying);
    for (int i = 0; i < 2 * count; i++)
        SSL_CTX_free(kept[i]);
    for (int i = 0; i < 4; i++)
        SSL_CTX_free(first[i]);
    free(kept);
    return 0;
}
