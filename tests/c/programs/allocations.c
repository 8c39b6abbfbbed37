/* allocations BUNDLE: every function while allocations fail: the n-th and all after it, for each n until nothing fails.
 * A call may fail, but the process lives on, and nothing is lost: the functions below count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windlass_openssl.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

/* How many allocations succeed before all fail; negative: all succeed. */
static long left = -1, failed, live;

static int may(void)
{
    if (left < 0)
        return 1;
    if (left == 0) {
        failed++;
        return 0;
    }
    left--;
    return 1;
}

void *malloc(size_t size)
{
    void *memory = may() ? __libc_malloc(size) : NULL;
    live += memory != NULL;
    return memory;
}

void *calloc(size_t count, size_t size)
{
    void *memory = may() ? __libc_calloc(count, size) : NULL;
    live += memory != NULL;
    return memory;
}

void *realloc(void *memory, size_t size)
{
    void *fresh = may() ? __libc_realloc(memory, size) : NULL;
    live += fresh != NULL && memory == NULL;
    return fresh;
}

void free(void *memory)
{
    live -= memory != NULL;
    __libc_free(memory);
}

/* Everything once. Returns how many of its steps succeeded. */
static int all(const char *bundle)
{
    windlass_trust *trust = NULL;
    windlass_store *state = NULL;
    windlass_anchor anchor;
    windlass_error error;
    size_t found[4], count = 0;
    X509_STORE *store = NULL;
    char status[100];
    int done = windlass_trust_open(bundle, WINDLASS_CRLS, &trust, &error) == WINDLASS_OK;
    if (done)
        done += windlass_trust_store(trust, &state, &error) == WINDLASS_OK;
    if (state) {
        done += windlass_store_anchor(state, 5, &anchor, sizeof anchor) == WINDLASS_OK;
        done += windlass_store_by_subject(state, anchor.subject.bytes, anchor.subject.length, found, 4, &count) == 0;
        done += windlass_store_by_key_id(state, anchor.subject_key_id.bytes, anchor.subject_key_id.length, found, 4,
                                         &count) == WINDLASS_OK;
        done += (store = X509_STORE_new()) && windlass_openssl_install(store, state, &error);
        done += store && windlass_openssl_anchor_(state, 5);
    }
    windlass_status(status, sizeof status);
    X509_STORE_free(store);
    windlass_store_release(state);
    windlass_trust_release(trust);
    return done;
}

int main(int count, char **arguments)
{
    int whole = all(arguments[count - 1]), halves = 0;
    long limit, before;
    /* What libcrypto and the linker keep for good is there by now. */
    ERR_clear_error();
    before = live;
    if (whole != 7 || all(arguments[count - 1]) != whole || live != before) {
        fprintf(stderr, "%d steps, %ld blocks lost without any failure\n", whole, live - before);
        return 2;
    }
    for (limit = 0; limit < 100000; limit++) {
        failed = 0;
        left = limit;
        int done = all(arguments[count - 1]);
        left = -1;
        halves += done < whole;
        ERR_clear_error();
        if (!failed)
            break;
        if (all(arguments[count - 1]) != whole) {
            fprintf(stderr, "a failure was remembered, limit %ld\n", limit);
            return 3;
        }
    }
    /* A few blocks may be an error queue's or a thread's own. */
    if (live > before + 8) {
        fprintf(stderr, "%ld blocks lost\n", live - before);
        return 4;
    }
    printf("%ld limits, %d with failed calls\n", limit, halves);
    return 0;
}
