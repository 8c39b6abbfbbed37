/* threads BUNDLE OTHER ROUNDS FORKS: threads that look up in the present state of a file, which is exchanged
 * meanwhile, and children that are forked meanwhile and do the same. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <windlass.h>

#define CHECK(good)                                                                                                    \
    do {                                                                                                               \
        if (!(good)) {                                                                                                 \
            fprintf(stderr, "line %d: %s\n", __LINE__, #good);                                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static windlass_trust *trust;
static int rounds;
static atomic_int running, made, freed;

static void release(void *object)
{
    atomic_fetch_add(&freed, 1);
    free(object);
}

/* One look at the present state. */
static void look(unsigned *seed)
{
    windlass_store *store;
    windlass_anchor anchor;
    size_t found[4], count, place;
    CHECK(windlass_trust_store(trust, &store, NULL) == WINDLASS_OK);
    CHECK(windlass_store_anchor_count(store) > 0);
    place = (size_t)rand_r(seed) % windlass_store_anchor_count(store);
    CHECK(windlass_store_anchor(store, place, &anchor, sizeof anchor) == WINDLASS_OK);
    CHECK(windlass_store_by_subject(store, anchor.subject.bytes, anchor.subject.length, found, 4, &count) == 0);
    CHECK(count >= 1);
    CHECK(windlass_store_by_issuer_and_serial(store, anchor.issuer.bytes, anchor.issuer.length, anchor.serial.bytes,
                                              anchor.serial.length, found, 4, &count) == 0);
    CHECK(count >= 1);
    if (!windlass_store_object(store, &trust, WINDLASS_ANCHOR, place)) {
        char *object = malloc(24);
        snprintf(object, 24, "%zu", place);
        atomic_fetch_add(&made, 1);
        CHECK(windlass_store_share(store, &trust, WINDLASS_ANCHOR, place, object, release));
    }
    CHECK(strtoul(windlass_store_object(store, &trust, WINDLASS_ANCHOR, place), NULL, 10) == place);
    windlass_store_release(windlass_store_retain(store));
    windlass_store_release(store);
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(size_t)argument;
    for (int round = 0; round < rounds; round++)
        look(&seed);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void copy(const char *from, const char *to)
{
    char buffer[65536], fresh[4096];
    FILE *in = fopen(from, "r"), *out;
    size_t length;
    snprintf(fresh, sizeof fresh, "%s.new", to);
    out = fopen(fresh, "w");
    CHECK(in && out);
    while ((length = fread(buffer, 1, sizeof buffer, in)) > 0)
        fwrite(buffer, 1, length, out);
    fclose(in);
    fclose(out);
    CHECK(rename(fresh, to) == 0);
}

int main(int count, char **arguments)
{
    pthread_t threads[4];
    char live[4096];
    int forks, status;
    CHECK(count == 5);
    snprintf(live, sizeof live, "%s.live", arguments[1]);
    copy(arguments[1], live);
    rounds = atoi(arguments[3]);
    forks = atoi(arguments[4]);
    CHECK(windlass_trust_open(live, WINDLASS_CRLS, &trust, NULL) == WINDLASS_OK);
    atomic_store(&running, 4);
    for (size_t at = 0; at < 4; at++)
        CHECK(pthread_create(&threads[at], NULL, work, (void *)(at + 1)) == 0);
    for (int turn = 0; atomic_load(&running) > 0; turn++) {
        copy(arguments[turn % 2 + 1], live);
        if (turn < forks) {
            pid_t child = fork();
            if (child == 0) {
                unsigned seed = 7;
                alarm(60); /* a child that waits for a thread of its parent waits for ever */
                for (int round = 0; round < 20; round++)
                    look(&seed);
                _exit(0);
            }
            CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        }
        usleep(1000);
    }
    for (size_t at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    windlass_trust_release(windlass_trust_retain(trust));
    windlass_trust_release(trust);
    CHECK(atomic_load(&made) > 0 && atomic_load(&made) == atomic_load(&freed));
    printf("released all\n");
    return 0;
}
