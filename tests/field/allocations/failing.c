/*
 * malloc and its kind, of which some calls fail while `armed`: at random, one alone, or all from one on. The
 * executable's definitions come before those of the C library, for each object of the process and for the dynamic
 * linker.
 */
#include "failing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static struct plan plan;
static int armed;
static __thread int spared;
static uint64_t calls;
uintptr_t library_start, library_end, reliant_start[RELIANT], reliant_end[RELIANT];

uint64_t mixed(uint64_t seed)
{
    /* splitmix64 */
    seed += 0x9E3779B97F4A7C15;
    seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9;
    seed = (seed ^ seed >> 27) * 0x94D049BB133111EB;
    return seed ^ seed >> 31;
}

void set_plan(struct plan wanted)
{
    plan = wanted;
    calls = 0;
}

uint64_t calls_so_far(void)
{
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

void arm_failing(int on)
{
    __atomic_store_n(&armed, on, __ATOMIC_SEQ_CST);
}

static int fails(void *caller, size_t size)
{
    uint64_t call;
    int at;

    if (spared || !__atomic_load_n(&armed, __ATOMIC_RELAXED))
        return 0;
    for (at = 0; at < RELIANT; at++)
        if ((uintptr_t)caller >= reliant_start[at] && (uintptr_t)caller < reliant_end[at])
            return 0;
    if (plan.how == ONE_OF_LIBRARY && ((uintptr_t)caller < library_start || (uintptr_t)caller >= library_end))
        return 0;
    call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    switch (plan.how) {
    case AT_RANDOM:
        if (mixed(plan.seed ^ call * 0x9E3779B97F4A7C15) % plan.number != 0)
            return 0;
        break;
    case ONE:
    case ONE_OF_LIBRARY:
        if (call != plan.number)
            return 0;
        break;
    case LARGE:
        if (size < plan.number)
            return 0;
        break;
    case FROM:
        if (call < plan.number)
            return 0;
        break;
    default:
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void spare_this_thread(int on)
{
    spared = on;
}

#define FAILS(size) fails(__builtin_return_address(0), size)

void *malloc(size_t size)
{
    return FAILS(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return size != 0 && FAILS(size) ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    return FAILS(size) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return FAILS(size) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size)
{
    void *memory = FAILS(size) ? NULL : __libc_memalign(alignment, size);

    if (memory == NULL)
        return ENOMEM;
    *place = memory;
    return 0;
}
