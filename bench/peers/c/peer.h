/* What the C peers share: PROGRAM MODE N ROOT LEAF [more]. What is printed: bench/peers/README.md. */
#ifndef PEER_H
#define PEER_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct peer {
    void *(*make)(void);
    void (*verify)(void *context);
    void (*drop)(void *context);
};

static inline void must(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

/* Milliseconds of processor time, user and system, of all threads. */
static inline double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static inline long resident_kib(void) {
    char line[256];
    long kib = -1;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    must(rollup != NULL, "opening /proc/self/smaps_rollup");
    while (fgets(line, sizeof line, rollup) != NULL && sscanf(line, "Rss: %ld kB", &kib) != 1) {
    }
    fclose(rollup);
    return kib;
}

static inline double turns(const struct peer *peer, int count, int verifying) {
    double before = cpu_ms();
    for (int i = 0; i < count; i++) {
        void *context = peer->make();
        if (verifying)
            peer->verify(context);
        peer->drop(context);
    }
    return (cpu_ms() - before) / count;
}

static inline void *verified(const struct peer *peer) {
    void *context = peer->make();
    peer->verify(context);
    return context;
}

static inline void measure(const struct peer *peer, const char *mode, int count) {
    must(count > 0, "reading N");
    if (strcmp(mode, "time") == 0) {
        double first = turns(peer, 1, 0), next = turns(peer, count, 0), verifying = turns(peer, count, 1);
        printf("{\"first\": %f, \"next\": %f, \"verified\": %f}\n", first, next, verifying);
    } else if (strcmp(mode, "count") == 0) {
        turns(peer, count, 0);
    } else {
        must(strcmp(mode, "keep") == 0, "reading the mode");
        void **kept = calloc((size_t)count, sizeof *kept), *first = verified(peer);
        must(kept != NULL, "calloc");
        long before = resident_kib();
        for (int i = 0; i < count; i++)
            kept[i] = verified(peer);
        printf("{\"kib\": %f}\n", (double)(resident_kib() - before) / count);
        for (int i = 0; i < count; i++)
            peer->drop(kept[i]);
        peer->drop(first);
        free(kept);
    }
}
#endif
