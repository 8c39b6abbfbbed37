#ifndef FAILING_H
#define FAILING_H

#include <stdint.h>

/* Which calls fail: one of `number`, only the one of that number, only that of those that come from `library_start` to
 * `library_end`, all from one on; those of `number` bytes and more; or none, as the address space is limited to
 * `number` KiB more than it has. */
enum how { NEVER, AT_RANDOM, ONE, ONE_OF_LIBRARY, FROM, LARGE, LIMITED };

struct plan {
    enum how how;
    uint64_t number, seed;
};

extern uintptr_t library_start, library_end;
/* What comes from there never fails: libraries that don't look at what malloc says, or abort by themselves. */
enum { RELIANT = 4 };
extern uintptr_t reliant_start[RELIANT], reliant_end[RELIANT];
void set_plan(struct plan wanted);
void arm_failing(int on);
uint64_t calls_so_far(void);
void spare_this_thread(int on);
uint64_t mixed(uint64_t seed);

#endif
